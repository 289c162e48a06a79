import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { Deployment, Page } from "../deployments/deployment-api.ts";

export type TraceRun = {
  id: string;
  name: string;
  status: string;
  start_time: string;
  end_time: string | null;
  session_id: string;
  app_path: string;
  error?: string | null;
};
export type TraceStats = {
  run_count: number;
  error_rate: number | null;
  latency_p50: number | null;
  total_tokens: number;
};
export type BulkExport = {
  id: string;
  status: string;
  error: string | null;
  interval_hours: number | null;
  progress: { rows_written: number; percentage: number };
  created_at: string;
  updated_at: string;
};
export type Token = { id: string; status?: string };

const runFields = ["id", "name", "status", "start_time", "end_time", "session_id", "app_path", "error"];
const dayMs = 86_400_000;

export function useOverview() {
  const deployments = useQuery({
    queryKey: ["deployments", "overview"],
    queryFn: ({ signal }) => api.get<Page<Deployment>>("/v2/deployments?limit=50", { signal }),
  });
  const traces = useQuery({
    queryKey: ["traces", "overview", "newest"],
    queryFn: ({ signal }) =>
      api.post<{ runs: TraceRun[] }>(
        "/api/v1/runs/query",
        { is_root: true, limit: 8, select: runFields },
        { signal },
      ),
  });
  const failures = useQuery({
    queryKey: ["traces", "overview", "failed"],
    queryFn: ({ signal }) =>
      api.post<{ runs: TraceRun[] }>(
        "/api/v1/runs/query",
        {
          is_root: true,
          error: true,
          limit: 5,
          start_time: new Date(Date.now() - dayMs).toISOString(),
          select: runFields,
        },
        { signal },
      ),
  });
  const stats = useQuery({
    queryKey: ["traces", "overview", "stats"],
    queryFn: ({ signal }) =>
      api.post<TraceStats>(
        "/api/v1/runs/stats",
        { is_root: true, start_time: new Date(Date.now() - dayMs).toISOString() },
        { signal },
      ),
  });
  const exports = useQuery({
    queryKey: ["exports", "overview"],
    queryFn: ({ signal }) => api.get<BulkExport[]>("/api/v1/bulk-exports?limit=10", { signal }),
  });
  const connections = useQuery({
    queryKey: ["connections", "overview"],
    queryFn: ({ signal }) => api.get<Token[]>("/v2/auth/tokens", { signal }),
  });
  const server = useQuery({
    queryKey: ["server", "info"],
    refetchInterval: 30_000,
    queryFn: async ({ signal }) => {
      const [info] = await Promise.all([
        api.get<{ version: string }>("/info", { signal }),
        api.get<{ ok: true }>("/ok", { signal }),
      ]);
      return info;
    },
  });
  return { deployments, traces, failures, stats, exports, connections, server };
}
