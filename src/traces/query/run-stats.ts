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
