import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { api } from "../../api/client.ts";
import type { Run } from "./trace-api.ts";

export type RunsQuestion = {
  projectId: string;
  filter: string;
  /** Only the top of each trace. */
  roots: boolean;
  errors: boolean;
  lastMs: number | null;
};

type RunPage = { runs: Run[]; cursors: { next: string | null } };

const select = [
  "id",
  "name",
  "run_type",
  "status",
  "trace_id",
  "session_id",
  "start_time",
  "end_time",
  "latency",
  "total_tokens",
  "total_cost",
  "tags",
  "app_path",
  "inputs_preview",
  "outputs_preview",
  "error_preview",
  "feedback_stats",
];
const pageSize = 100;

function ask(asked: RunsQuestion, cursor: string | null, signal: AbortSignal): Promise<RunPage> {
  const since = asked.lastMs === null ? undefined : new Date(Date.now() - asked.lastMs).toISOString();
  const body = {
    session: [asked.projectId],
    ...(asked.filter ? { filter: asked.filter } : {}),
    ...(asked.roots ? { is_root: true } : {}),
    ...(asked.errors ? { error: true } : {}),
    ...(since ? { start_time: since } : {}),
    ...(cursor ? { cursor } : {}),
    limit: pageSize,
    select,
  };
  return api.post<RunPage>("/api/v1/runs/query", body, { signal });
}

/**
 * Runs, newest first, page by page as one scrolls. Hints of change ask for the newest page alone: asking for
 * everything again would cost a hundred requests on a long list. What is new stands above what was there.
 */
export function useRuns(asked: RunsQuestion) {
  const client = useQueryClient();
  const pagesKey = useMemo(() => ["trace-runs", asked], [asked]);
  const pages = useInfiniteQuery({
    queryKey: pagesKey,
    queryFn: ({ pageParam, signal }) => ask(asked, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.cursors.next,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  });
  const head = useQuery({
    queryKey: ["traces", "head", asked],
    queryFn: ({ signal }) => ask(asked, null, signal),
    enabled: pages.isSuccess && !pages.isPlaceholderData,
  });
  const merged = useMemo(
    () =>
      mergeHead(
        pages.data?.pages.flatMap(({ runs }) => runs) ?? [],
        pages.isPlaceholderData ? [] : (head.data?.runs ?? []),
      ),
    [pages.data, pages.isPlaceholderData, head.data],
  );
  useEffect(() => {
    // More came than one page holds: what lies between is not known, so the list begins anew.
    if (merged.gap) void client.resetQueries({ queryKey: pagesKey });
  }, [merged.gap, client, pagesKey]);
  return { ...pages, rows: merged.rows };
}

export function mergeHead(
  rows: readonly Run[],
  head: readonly Run[],
): { rows: readonly Run[]; gap: boolean } {
  const [newest] = rows;
  if (head.length === 0) return { rows, gap: false };
  if (!newest) return { rows: head, gap: false };
  const fresh = new Map(head.map((run) => [run.id, run]));
  const known = rows.map((run) => fresh.get(run.id) ?? run);
  const ids = new Set(rows.map((run) => run.id));
  const added = head.filter((run) => !ids.has(run.id) && run.start_time >= newest.start_time);
  return { rows: [...added, ...known], gap: added.length >= pageSize };
}
