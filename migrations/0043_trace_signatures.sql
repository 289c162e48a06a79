-- The trigrams of a project's runs, side by side: a search for a word that no run holds had to read every wide row to
-- learn that from the bits in it.
create index trace_runs_signatures on trace_runs (project_id, start_time desc, id desc)
  include (workspace_id, trigrams);
