-- oldest code: 0002

-- A copy of the feedback on runs, as far as filters and statistics read it. Its rows are in PostgreSQL; the copy that was made last holds.
create table if not exists trace_feedback (
  workspace_id UUID,
  run_id UUID,
  id UUID,
  project_id Nullable(UUID),
  comparison_id Nullable(UUID),
  key LowCardinality(String),
  score Nullable(Float64),
  -- A text as it is, everything else as JSON.
  value_text Nullable(String) codec(ZSTD(1)),
  is_text Bool,
  comment Nullable(String) codec(ZSTD(1)),
  source LowCardinality(Nullable(String)),
  -- By the clock of PostgreSQL.
  copied_at DateTime64(6, 'UTC'),
  is_removed Bool
) engine = ReplacingMergeTree(copied_at)
order by (workspace_id, run_id, id);

-- Feedback that is about to change: marked before PostgreSQL is told, so that a copy that was missed is made later.
create table if not exists trace_feedback_marks (
  marked_at DateTime64(6, 'UTC') default now64(6, 'UTC'),
  workspace_id UUID,
  run_id UUID,
  id UUID
) engine = MergeTree
order by marked_at
settings fsync_after_insert = 1, fsync_part_directory = 1;
