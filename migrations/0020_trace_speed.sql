-- Which groups of three characters occur in a run's name, error, inputs and outputs, as bits by hash
-- (src/traces/runs/trigrams.ts). A search passes over runs that lack a bit of its word without reading their
-- payloads. Null: not known (written before this column, or too long to tell).
alter table trace_runs add column trigrams bit(1024);
alter table trace_runs alter column trigrams set storage plain;

-- Runs of one name, newest first, however rare the name is.
create index trace_runs_by_name on trace_runs (project_id, name, start_time desc, id desc);

-- A function that is strict is not written out into the statements that use it: a filter of a hundred pairs was
-- planned for seconds.
alter function trace_pairs(text) strict;

create table trace_example_attachments (
  workspace_id uuid not null,
  example_id uuid not null references trace_examples on delete cascade,
  name text not null,
  mime_type text not null,
  size integer not null,
  content bytea not null,
  created_at timestamptz not null default now(),
  primary key (example_id, name)
);
alter table trace_example_attachments alter column content set storage external;
