import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type {
  Answers,
  BulkExport,
  OAuthTokenSummary,
  ServerInfo,
  TraceRunPage,
  TraceRunStats,
} from "../../api/wire.ts";

export type { BulkExport, TraceRun } from "../../api/wire.ts";

const runFields = ["id", "name", "status", "start_time", "end_time", "session_id", "app_path", "error"];
const dayMs = 86_400_000;

export function useOverview() {
  const deployments = useQuery({
    queryKey: ["deployments", "overview"],
    queryFn: ({ signal }) => api.get<Answers["list_deployments"]>("/v2/deployments?limit=50", { signal }),
  });
  const traces = useQuery({
    queryKey: ["traces", "overview", "newest"],
    queryFn: ({ signal }) =>
      api.post<TraceRunPage>(
        "/api/v1/runs/query",
        { is_root: true, limit: 8, select: runFields },
        { signal },
      ),
  });
  const failures = useQuery({
    queryKey: ["traces", "overview", "failed"],
    queryFn: ({ signal }) =>
      api.post<TraceRunPage>(
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
      api.post<TraceRunStats>(
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
    queryFn: ({ signal }) => api.get<OAuthTokenSummary[]>("/v2/auth/tokens", { signal }),
  });
  const server = useQuery({
    queryKey: ["server", "info"],
    refetchInterval: 30_000,
    queryFn: async ({ signal }) => {
      const [info] = await Promise.all([
        api.get<ServerInfo>("/info", { signal }),
        api.get("/ok", { signal }),
      ]);
      return info;
    },
  });
  return { deployments, traces, failures, stats, exports, connections, server };
}
