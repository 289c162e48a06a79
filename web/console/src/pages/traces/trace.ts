/** What the server answers about traces. */

export type Project = {
  id: string;
  tenant_id: string;
  name: string;
  description: string | null;
  start_time: string;
  reference_dataset_id: string | null;
  run_count?: number | null;
  error_rate?: number | null;
  latency_p50?: number | null;
  latency_p99?: number | null;
  total_tokens?: number | null;
  total_cost?: number | null;
  last_run_start_time?: string | null;
  feedback_stats?: Record<string, { n: number; avg: number | null }> | null;
};

/** A run without its payloads. */
export type Run = {
  id: string;
  name: string;
  run_type: string;
  status: string;
  trace_id: string;
  session_id: string;
  parent_run_id?: string | null;
  dotted_order: string;
  start_time: string;
  end_time?: string | null;
  latency?: number | null;
  error?: string | null;
  tags?: string[];
  total_tokens?: number;
  prompt_tokens?: number;
  completion_tokens?: number;
  total_cost?: string | null;
  first_token_time?: string | null;
  thread_id?: string | null;
  is_root?: boolean;
  reference_example_id?: string | null;
  app_path: string;
  inputs_preview?: string | null;
  outputs_preview?: string | null;
  outputs_tail?: string | null;
  error_preview?: string | null;
  feedback_stats?: Record<string, { n: number; avg: number | null }> | null;
};

export type FullRun = Run & {
  inputs?: unknown;
  outputs?: unknown;
  extra?: { metadata?: Record<string, unknown>; runtime?: Record<string, unknown> } | null;
  events?: unknown;
  serialized?: unknown;
};

export type Stats = {
  run_count: number;
  error_rate: number | null;
  latency_p50: number | null;
  latency_p99: number | null;
  first_token_p50: number | null;
  total_tokens: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_cost: number | null;
  last_run_start_time: string | null;
};
export type ProjectStats = {
  bucket: string;
  start_time: string;
  end_time: string;
  total: Stats;
  buckets: (Stats & { bucket_start: string })[];
};

export type SeenValues = {
  names: string[];
  run_types: string[];
  tags: string[];
  metadata: Record<string, string[]>;
  feedback_keys: string[];
};

export type FilterFault = {
  field: string;
  message: string;
  offset: number;
  line: number;
  column: number;
  expected: string | null;
};

export type Feedback = {
  id: string;
  key: string;
  score: number | null;
  value: unknown;
  comment: string | null;
  created_at: string;
  feedback_source?: { type?: string } | null;
};
