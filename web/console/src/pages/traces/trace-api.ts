import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, query } from "../../api/client.ts";

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

export function useProjects() {
  return useQuery({
    queryKey: ["traces", "projects"],
    queryFn: ({ signal }) => api.get<Project[]>("/api/v1/sessions?include_stats=true&limit=100", { signal }),
    placeholderData: keepPreviousData,
  });
}

export function useProject(id: string) {
  return useQuery({
    queryKey: ["trace-project", id],
    queryFn: ({ signal }) => api.get<Project>(`/api/v1/sessions/${id}`, { signal }),
  });
}

export type StatsQuestion = {
  bucket: "minute" | "hour" | "day" | "week";
  /** Up to now; null: a week. */
  lastMs: number | null;
  isRoot?: boolean | undefined;
  filter?: string | undefined;
};

export function useStats(projectId: string, asked: StatsQuestion) {
  return useQuery({
    queryKey: ["traces", "stats", projectId, asked],
    queryFn: ({ signal }) => {
      const start = asked.lastMs === null ? undefined : new Date(Date.now() - asked.lastMs).toISOString();
      const { bucket, isRoot, filter } = asked;
      const path = query({ bucket, start_time: start, is_root: isRoot, filter });
      return api.get<ProjectStats>(`/api/v1/sessions/${projectId}/stats${path}`, { signal });
    },
    placeholderData: keepPreviousData,
  });
}

export function useSeenValues(projectId: string) {
  return useQuery({
    queryKey: ["trace-values", projectId],
    queryFn: ({ signal }) => api.get<SeenValues>(`/api/v1/sessions/${projectId}/filter-values`, { signal }),
  });
}

export function useRun(id: string) {
  return useQuery({
    queryKey: ["traces", "run", id],
    queryFn: ({ signal }) => api.get<FullRun>(`/api/v1/runs/${id}`, { signal }),
    placeholderData: keepPreviousData,
  });
}

export type Trace = { trace_id: string; truncated: boolean; runs: Run[] };

export function useTrace(id: string | undefined) {
  return useQuery({
    queryKey: ["traces", "trace", id],
    enabled: id !== undefined,
    queryFn: ({ signal }) => api.get<Trace>(`/api/v1/traces/${id}`, { signal }),
    placeholderData: keepPreviousData,
  });
}

export function useFeedback(runId: string) {
  return useQuery({
    queryKey: ["traces", "feedback", runId],
    queryFn: ({ signal }) => api.get<Feedback[]>(`/api/v1/feedback?run=${runId}`, { signal }),
  });
}

export type Attachment = { name: string; mime_type: string; size: number };

export function useAttachments(runId: string) {
  return useQuery({
    queryKey: ["traces", "attachments", runId],
    queryFn: ({ signal }) => api.get<Attachment[]>(`/api/v1/runs/${runId}/attachments`, { signal }),
  });
}

export function validateFilter(filter: string, signal?: AbortSignal) {
  return api.post<{ valid: boolean; errors: FilterFault[] }>(
    "/api/v1/runs/query/validate",
    { filter },
    { signal },
  );
}

export function runHref(run: { session_id: string; id: string }): string {
  return `/traces/${run.session_id}/r/${run.id}`;
}
