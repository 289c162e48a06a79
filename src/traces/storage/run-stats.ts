export const buckets = ["minute", "hour", "day", "week", "month"] as const;
export type Bucket = (typeof buckets)[number];

export type FeedbackStats = Record<string, { n: number; avg: number | null; values: Record<string, number> }>;

/** Seconds for times, null where there is nothing to take a share or a percentile of. */
export type RunStats = {
  run_count: number;
  error_rate: number | null;
  streaming_rate: number | null;
  latency_p50: number | null;
  latency_p99: number | null;
  first_token_p50: number | null;
  first_token_p99: number | null;
  total_tokens: number;
  prompt_tokens: number;
  completion_tokens: number;
  median_tokens: number | null;
  total_cost: number | null;
  prompt_cost: number | null;
  completion_cost: number | null;
  last_run_start_time: string | null;
};

export const noRuns: RunStats = {
  run_count: 0,
  error_rate: null,
  streaming_rate: null,
  latency_p50: null,
  latency_p99: null,
  first_token_p50: null,
  first_token_p99: null,
  total_tokens: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  median_tokens: null,
  total_cost: null,
  prompt_cost: null,
  completion_cost: null,
  last_run_start_time: null,
};

export type BucketStats = RunStats & { bucket_start: string };

/** A conversation: the traces of a project that carry the same thread id, in numbers. */
export type ThreadSummary = {
  thread_id: string;
  count: number;
  num_errored_turns: number;
  min_start_time: string;
  max_start_time: string;
  total_tokens: number;
  total_cost: number | null;
  latency_p50: number | null;
  latency_p99: number | null;
  first_trace_id: string;
  first_inputs: string | null;
  last_trace_id: string;
  last_outputs: string | null;
  last_error: string | null;
};

export type ThreadPage = { limit: number; after?: { startTime: string; threadId: string }; offset?: number };

export type ThreadNumbers = {
  turns: number;
  first_start_time: string | null;
  last_start_time: string | null;
  last_end_time: string | null;
  latency_p50: number | null;
  latency_p99: number | null;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_cost: number | null;
  completion_cost: number | null;
  total_cost: number | null;
};

/** Over the runs at the top of each trace, whose tokens and costs contain those below them. */
export type ProjectStats = {
  run_count: number;
  total_tokens: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_cost: number | null;
  prompt_cost: number | null;
  completion_cost: number | null;
  latency_p50: number | null;
  latency_p99: number | null;
  first_token_p50: number | null;
  first_token_p99: number | null;
  error_rate: number | null;
  streaming_rate: number | null;
  last_run_start_time: string | null;
  /** By key: how many there are and their mean. */
  feedback_stats: Record<string, { n: number; avg?: number | null }>;
};

export type Window = { from: Date; to: Date };
export type RunFigures = { runs: number; errors: number; p95Seconds: number | null };

/** The mean of what was given for one key on the runs of one example. */
export type ExampleScore = { experiment_id: string; example_id: string; key: string; score: number };
/** How many of the runs of one example failed. */
export type ExampleOutcome = { experiment_id: string; example_id: string; failed: boolean };
