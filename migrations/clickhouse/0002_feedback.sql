-- oldest code: 0002

-- A copy of the feedback in PostgreSQL, as far as filters and statistics read it.
create table if not exists trace_feedback (
  workspace_id UUID,
  run_id UUID,
  id UUID,
  project_id Nullable(UUID),
  key LowCardinality(String),
  score Nullable(Float64),
  -- A text as it is, everything else as JSON.
  value_text Nullable(String) codec(ZSTD(1)),
  comment Nullable(String) codec(ZSTD(1)),
  source LowCardinality(Nullable(String)),
  modified_at DateTime64(6, 'UTC'),
  is_removed Bool
) engine = ReplacingMergeTree(modified_at)
order by (workspace_id, run_id, id);
