import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api, query } from "../../api/client.ts";
import type { Answers, RunQueryValidationResult } from "../../api/wire.ts";
import type { Feedback, FullRun, Project, ProjectStats, SeenValues, Trace } from "./trace.ts";

export type * from "./trace.ts";

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

type Attachments = Answers["list_run_attachments"];
export type Attachment = Attachments[number];

export function useAttachments(runId: string) {
  return useQuery({
    queryKey: ["traces", "attachments", runId],
    queryFn: ({ signal }) => api.get<Attachments>(`/api/v1/runs/${runId}/attachments`, { signal }),
  });
}

export function validateFilter(filter: string, signal?: AbortSignal) {
  return api.post<RunQueryValidationResult>("/api/v1/runs/query/validate", { filter }, { signal });
}

export function runHref(run: { session_id: string; id: string }): string {
  return `/traces/${run.session_id}/r/${run.id}`;
}
