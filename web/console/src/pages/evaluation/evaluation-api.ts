import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api, query } from "../../api/client.ts";
import type {
  AnnotationItem,
  AnnotationQueue,
  Answers,
  ScoreComparison,
  TraceProject,
  TraceRun,
} from "../../api/wire.ts";
import type { ExampleWithRuns } from "./compared-row.ts";

export type Dataset = Answers["list_datasets"][number];
export type Example = Answers["list_examples"][number];
export type Experiment = TraceProject;
export type { AnnotationItem, AnnotationQueue };

const atOnce = 100;

/** Pages by offset; a page that is not full is the last. */
function useOffsetPages<Row>(queryKey: readonly unknown[], path: (page: string) => string) {
  return useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      api.get<Row[]>(path(`limit=${atOnce}&offset=${pageParam}`), { signal }),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (last.length < atOnce ? undefined : pages.length * atOnce),
    placeholderData: keepPreviousData,
  });
}

export function useDatasets(nameContains: string) {
  const named = query({ name_contains: nameContains }).replace("?", "&");
  return useOffsetPages<Dataset>(
    ["datasets", "list", nameContains],
    (page) => `/api/v1/datasets?${page}${named}`,
  );
}

export function useDataset(id: string) {
  return useQuery({
    queryKey: ["datasets", "one", id],
    queryFn: ({ signal }) => api.get<Dataset>(`/api/v1/datasets/${id}`, { signal }),
  });
}

export function useQueues() {
  return useOffsetPages<AnnotationQueue>(["queues", "list"], (page) => `/api/v1/annotation-queues?${page}`);
}

export const createDataset = (name: string, description = "") =>
  api.post<Dataset>("/api/v1/datasets", { name, ...(description === "" ? {} : { description }) });

export type NewQueue = {
  name: string;
  description?: string;
  rubric_instructions?: string;
  rubric_items?: { feedback_key: string }[];
};
export const createQueue = (queue: NewQueue) => api.post<AnnotationQueue>("/api/v1/annotation-queues", queue);

/** One request: all of them, or none. Inputs and outputs are those of the runs. */
export const addRunsToDataset = (datasetId: string, runIds: readonly string[]) =>
  api.post<Example[]>(
    "/api/v1/examples/bulk",
    runIds.map((id) => ({ dataset_id: datasetId, source_run_id: id, use_source_run_io: true })),
  );

export const addRunsToQueue = (queueId: string, runIds: readonly string[]) =>
  api.post<Answers["add_annotation_items"]>(`/api/v1/platform/annotation-queues/${queueId}/items`, {
    items: runIds.map((id) => ({ run_id: id })),
  });

export function useExamples(datasetId: string) {
  return useOffsetPages<Example>(
    ["datasets", "examples", datasetId],
    (page) => `/api/v1/examples?dataset=${datasetId}&${page}`,
  );
}

export function useExample(id: string) {
  return useQuery({
    queryKey: ["datasets", "example", id],
    queryFn: ({ signal }) => api.get<Example>(`/api/v1/examples/${id}`, { signal }),
    // An entry that the user is editing is not replaced.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
}

export function useExperiments(datasetId: string) {
  return useOffsetPages<Experiment>(
    ["traces", "experiments", datasetId],
    (page) => `/api/v1/sessions?reference_dataset=${datasetId}&include_stats=true&${page}`,
  );
}

export function useExperimentsById(ids: readonly string[]) {
  return useQuery({
    queryKey: ["traces", "experiments", "by id", ids],
    enabled: ids.length > 0,
    queryFn: ({ signal }) =>
      api.get<Experiment[]>(`/api/v1/sessions?${ids.map((id) => `id=${id}`).join("&")}&limit=100`, {
        signal,
      }),
    placeholderData: keepPreviousData,
  });
}

export type NamedComparison = Answers["list_comparative_experiments"][number];

/** The comparisons that pairwise evaluations made, newest first. */
export function useNamedComparisons(datasetId: string) {
  return useOffsetPages<NamedComparison>(
    ["traces", "named comparisons", datasetId],
    (page) => `/api/v1/datasets/${datasetId}/comparative?${page}`,
  );
}

/** Null: there is none with this id. */
export function useNamedComparison(datasetId: string, id: string | null) {
  return useQuery({
    queryKey: ["traces", "named comparison", datasetId, id],
    enabled: id !== null,
    queryFn: async ({ signal }) => {
      const path = `/api/v1/datasets/${datasetId}/comparative?id=${id}`;
      return (await api.get<NamedComparison[]>(path, { signal }))[0] ?? null;
    },
  });
}

type Compared = { ids: readonly string[]; namedId: string | null; isReady: boolean };

export function useComparison(datasetId: string, { ids, namedId, isReady }: Compared) {
  const within = namedId === null ? "" : `&comparative_experiment=${namedId}`;
  return useQuery({
    queryKey: ["traces", "comparison", datasetId, ids, namedId],
    enabled: isReady && ids.length > 0,
    queryFn: ({ signal }) =>
      api.get<ScoreComparison>(
        `/api/v1/datasets/${datasetId}/comparison?${ids.map((id) => `experiment=${id}`).join("&")}${within}`,
        { signal },
      ),
    placeholderData: keepPreviousData,
  });
}

type ComparedPage = { items: ExampleWithRuns[]; next_cursor: string | null };
const selects = [
  "PROJECT_ID",
  "STATUS",
  "OUTPUTS",
  "ERROR",
  "LATENCY_SECONDS",
  "TOTAL_COST",
  "FEEDBACK_STATS",
];

/** Examples with what the experiments made of them; `only` these, where it is given. */
export function useComparedRows(
  datasetId: string,
  { ids, namedId, only, isReady }: Compared & { only: readonly string[] | undefined },
) {
  return useInfiniteQuery({
    queryKey: ["traces", "compared", datasetId, ids, namedId, only],
    enabled: ids.length > 0 && isReady,
    queryFn: ({ pageParam, signal }): Promise<ComparedPage> => {
      // No ids would mean all of them.
      if (only?.length === 0) return Promise.resolve({ items: [], next_cursor: null });
      const body = {
        experiment_ids: ids,
        ...(only ? { example_ids: only } : {}),
        ...(namedId === null ? {} : { comparative_experiment_id: namedId }),
        ...(pageParam ? { cursor: pageParam } : {}),
        selects,
        page_size: 20,
      };
      return api.post<ComparedPage>(`/api/v2/datasets/${datasetId}/experiment-runs`, body, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
    placeholderData: keepPreviousData,
  });
}

export function useQueue(id: string) {
  return useQuery({
    queryKey: ["queues", "one", id],
    queryFn: ({ signal }) => api.get<AnnotationQueue>(`/api/v1/annotation-queues/${id}`, { signal }),
  });
}

/** The next item for the user who is signed in, and the one after it. */
export function useQueueHead(id: string) {
  return useQuery({
    queryKey: ["queues", "head", id],
    queryFn: async ({ signal }) => {
      const path = `/api/v1/platform/annotation-queues/${id}/items?status=needs_my_review&page_size=2`;
      return (await api.get<Answers["list_annotation_items"]>(path, { signal })).items;
    },
  });
}

export function useQueueCounts(id: string) {
  return useQuery({
    queryKey: ["queues", "counts", id],
    queryFn: async ({ signal }) => {
      const count = async (status: string) => {
        const path = `/api/v1/platform/annotation-queues/${id}/items/count?status=${status}`;
        return (await api.get<Answers["count_annotation_items"]>(path, { signal })).count;
      };
      const [total, left] = await Promise.all([count("all"), count("needs_my_review")]);
      return { total, left };
    },
  });
}

export function useReviewedRun(id: string | null) {
  return useQuery({
    queryKey: ["reviewed-run", id],
    enabled: id !== null,
    queryFn: ({ signal }) => api.get<TraceRun>(`/api/v1/runs/${id}`, { signal }),
    staleTime: 60_000,
  });
}
