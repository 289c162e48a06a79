import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { api } from "../../api/client.ts";
import type { TraceRunPageV2, TraceRunV2 } from "../../api/wire.ts";
import { mergeHead } from "./merge-head.ts";
import { newestFirst, type Sort } from "./run-columns.ts";
import type { Run } from "./trace-api.ts";

export type RunsQuestion = {
  projectId: string;
  filter: string;
  /** Only the top of each trace. */
  roots: boolean;
  errors: boolean;
  lastMs: number | null;
  sort: Sort;
  /** The marks people gave: asked for only where they are shown. */
  withFeedback: boolean;
};

type RunPage = { runs: Run[]; next: string | null };

/** As the newer API writes a run: what was selected is there. */
type SelectedRun = Required<TraceRunV2>;

const selects = [
  "NAME",
  "RUN_TYPE",
  "STATUS",
  "TRACE_ID",
  "PROJECT_ID",
  "START_TIME",
  "END_TIME",
  "LATENCY_SECONDS",
  "TOTAL_TOKENS",
  "TOTAL_COST",
  "TAGS",
  "APP_PATH",
  "INPUTS_PREVIEW",
  "OUTPUTS_PREVIEW",
  "OUTPUTS_TAIL",
  "ERROR_PREVIEW",
  "THREAD_ID",
];
/** The first page is small, to be there at once; while scrolling, pages of that size would come too slowly. */
const firstPage = 100;
const laterPage = 250;
const beginning = "2015-01-01T00:00:00Z";

async function ask(asked: RunsQuestion, cursor: string | null, signal: AbortSignal): Promise<RunPage> {
  const since = asked.lastMs === null ? beginning : new Date(Date.now() - asked.lastMs).toISOString();
  const body = {
    project_ids: [asked.projectId],
    ...(asked.filter ? { filter: asked.filter } : {}),
    ...(asked.roots ? { is_root: true } : {}),
    ...(asked.errors ? { has_error: true } : {}),
    min_start_time: since,
    ...(cursor ? { cursor } : {}),
    page_size: cursor ? laterPage : firstPage,
    sort: asked.sort.field,
    order: asked.sort.order,
    selects: asked.withFeedback ? [...selects, "FEEDBACK_STATS"] : selects,
  };
  const { items, next_cursor } = await api.post<TraceRunPageV2>("/api/v2/runs/query", body, { signal });
  return { runs: items.map((run) => readRun(run as SelectedRun)), next: next_cursor };
}

function readRun({ project_id, latency_seconds, total_cost, ...run }: SelectedRun): Run {
  return {
    ...run,
    session_id: project_id,
    run_type: run.run_type.toLowerCase(),
    status: run.status.toLowerCase(),
    latency: latency_seconds,
    total_cost: total_cost === null ? null : String(total_cost),
  };
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
    getNextPageParam: (last) => last.next,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  });
  const head = useQuery({
    queryKey: ["traces", "head", asked],
    queryFn: ({ signal }) => ask(asked, null, signal),
    enabled: pages.isSuccess && !pages.isPlaceholderData && isNewestFirst(asked.sort),
  });
  const merged = useMemo(
    () =>
      mergeHead(
        pages.data?.pages.flatMap(({ runs }) => runs) ?? [],
        pages.isPlaceholderData ? [] : (head.data?.runs ?? []),
        firstPage,
      ),
    [pages.data, pages.isPlaceholderData, head.data],
  );
  useEffect(() => {
    // More came than one page holds: what lies between is not known, so the list is loaded again.
    if (merged.gap) void client.resetQueries({ queryKey: pagesKey });
  }, [merged.gap, client, pagesKey]);
  return { ...pages, rows: merged.rows };
}

/** In any other order what is new may belong anywhere: the list is asked for again by hand. */
function isNewestFirst({ field, order }: Sort): boolean {
  return field === newestFirst.field && order === newestFirst.order;
}
