-- oldest code: 0003
-- first in a new database

-- The table of runs as the migrations before this one make it, in blocks of four megabytes instead of ten: of each block that has a word, or a
-- run of a page, all payloads are read. The size of blocks cannot be changed later, so a table that is there already keeps its own; all
-- else is the same but for the index of errors that 0003 replaced. Filters of ids are of two blocks, since a write asks them for hundreds.

-- A run is written as often as it changes: each time all of its narrow columns, and those payloads that changed. The last value of a
-- narrow column holds, and the last payload that is not null. A value that may be taken back is an array of one or none: a null in a
-- column of its own, or in a tuple, would leave the value before it.
create table if not exists trace_runs (
  workspace_id UUID,
  project_id UUID,
  start_time DateTime64(6, 'UTC') codec(Delta, ZSTD(1)),
  id UUID,
  trace_id UUID,
  parent_run_ids Array(UUID) codec(ZSTD(1)),
  parent_run_id Nullable(UUID) alias if(empty(parent_run_ids), null, parent_run_ids[-1]),
  is_root Bool,
  reference_example Array(Nullable(UUID)) codec(ZSTD(1)),
  reference_example_id Nullable(UUID) alias reference_example[1],
  name LowCardinality(String),
  run_type LowCardinality(String),
  status LowCardinality(String),
  ended Array(Nullable(DateTime64(6, 'UTC'))) codec(ZSTD(1)),
  end_time Nullable(DateTime64(6, 'UTC')) alias ended[1],
  first_token Array(Nullable(DateTime64(6, 'UTC'))) codec(ZSTD(1)),
  first_token_time Nullable(DateTime64(6, 'UTC')) alias first_token[1],
  dotted_order String codec(ZSTD(1)),
  trace_tier LowCardinality(String),
  thread Array(Nullable(String)) codec(ZSTD(1)),
  thread_id Nullable(String) alias thread[1],
  tags Array(LowCardinality(String)),
  metadata String codec(ZSTD(1)),
  -- Hashes of tags and of the pairs of metadata, inputs and outputs.
  terms Array(Int32) codec(ZSTD(1)),
  failure Array(Nullable(String)) codec(ZSTD(1)),
  error Nullable(String) alias if(empty(failure), null, ifNull(error_text, '')),
  execution_order Int32 codec(ZSTD(1)),
  posted Bool,
  patched Bool,
  -- What the run spent itself, and what the runs below it passed on: exact numbers as text.
  usage Array(Nullable(String)) codec(ZSTD(1)),
  below Array(Nullable(String)) codec(ZSTD(1)),
  prompt_tokens Int64 codec(T64, ZSTD(1)),
  completion_tokens Int64 codec(T64, ZSTD(1)),
  total_tokens Int64 codec(T64, ZSTD(1)),
  -- Of prompts, completions, and both.
  costs Array(Nullable(Decimal(38, 18))) codec(ZSTD(1)),
  prompt_cost Nullable(Decimal(38, 18)) alias costs[1],
  completion_cost Nullable(Decimal(38, 18)) alias costs[2],
  total_cost Nullable(Decimal(38, 18)) alias costs[3],
  received_at DateTime64(6, 'UTC') codec(Delta, ZSTD(1)),
  -- Of a run that begins at another time now: its row there counts, this one does not.
  is_gone Bool,
  -- Which payloads the run has, a bit each in the order below: a writer must know it without reading them.
  present UInt8,
  inputs Nullable(String) codec(ZSTD(1)),
  outputs Nullable(String) codec(ZSTD(1)),
  extra Nullable(String) codec(ZSTD(1)),
  events Nullable(String) codec(ZSTD(1)),
  serialized Nullable(String) codec(ZSTD(1)),
  error_text Nullable(String) default if(empty(failure), '', nullIf(failure[1], '')) codec(ZSTD(1)),
  index by_trace trace_id type bloom_filter(0.001) granularity 1,
  -- Each write asks for hundreds of ids at once: with one wrong answer in a thousand it would read a third of the table.
  index by_id id type bloom_filter(0.00001) granularity 2,
  index by_ancestor parent_run_ids type bloom_filter(0.00001) granularity 2,
  index by_term terms type bloom_filter(0.01) granularity 1,
  index by_status status type set(16) granularity 1,
  index words_of_name lowerUTF8(name) type text(tokenizer = splitByNonAlpha),
  index words_of_inputs lowerUTF8(inputs) type text(tokenizer = splitByNonAlpha),
  index words_of_outputs lowerUTF8(outputs) type text(tokenizer = splitByNonAlpha),
  index words_of_error_text lowerUTF8(error_text) type text(tokenizer = splitByNonAlpha)
) engine = CoalescingMergeTree
partition by toYYYYMM(start_time)
order by (workspace_id, project_id, start_time, id)
-- An insert whose answer was lost is sent again under the same token, and adds nothing. What is acknowledged is on disk: rows that were
-- merged stay beside the result for minutes, so only inserts must be brought there.
settings non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1, index_granularity_bytes = 4194304;
