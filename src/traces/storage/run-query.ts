import type { Filter } from "../filter/filter.ts";
import type { Run } from "../runs/run.ts";

/** Which runs, independent of the kind of request. Every list empty or absent means "any". */
export type RunQuery = {
  workspaceId: string;
  projectIds?: string[] | undefined;
  /** Experiments on this dataset. */
  datasetId?: string | undefined;
  ids?: string[] | undefined;
  traceId?: string | undefined;
  parentRunId?: string | undefined;
  exampleIds?: string[] | undefined;
  runType?: string | undefined;
  isRoot?: boolean | undefined;
  hasError?: boolean | undefined;
  executionOrder?: number | undefined;
  /** On the start of the run: from, inclusive, and until, exclusive. ISO text. */
  since?: string | undefined;
  until?: string | undefined;
  filter?: Filter | undefined;
  /** On the root of the run's trace. */
  traceFilter?: Filter | undefined;
  /** On any run of the run's trace. */
  treeFilter?: Filter | undefined;
};

export type PageOrder = "asc" | "desc";

/**
 * Where a page ended. Runs are ordered by start and id, so that new arrivals shift nothing; `key` comes before both
 * where they are sorted by something else.
 */
export type Cursor = { startTime: string; id: string; key?: string };

/** What runs may be sorted by: all of it is in the index that has a project's runs in order. */
export const sortFields = ["start_time", "name", "status", "latency", "total_tokens", "total_cost"] as const;
export type SortField = (typeof sortFields)[number];

export type Page = {
  limit: number;
  order: PageOrder;
  after?: Cursor | undefined;
  /** Start when left out. */
  sort?: SortField | undefined;
};

export const previewFields = ["inputs_preview", "outputs_preview", "outputs_tail", "error_preview"] as const;
export const previewChars = 250;
/** The end of an output holds the latest of a conversation; of a huge one not even that is read. */
export const tailChars = 1_500;
export const maxTailedBytes = 50_000;

/** Fields that are read for an answer. */
export type RunField = keyof Run | "metadata" | (typeof previewFields)[number];
export type RunRow = Pick<Run, "id" | "start_time"> &
  Partial<Run> & { metadata?: string } & Partial<Record<(typeof previewFields)[number], string | null>>;

/** Payloads are as large as clients make them; an answer must fit into memory many times over. */
export const maxPageBytes = 24 * 1024 * 1024;

/** What clients made as large as they liked. */
export const payloadFields = ["inputs", "outputs", "error", "extra", "events", "serialized"] as const;

export type FoundRuns = {
  rows: RunRow[];
  /** Where to go on; null when this was all. */
  next: Cursor | null;
};

/** A run as far as filters of its project are suggested from it. */
export type SeenRun = { name: string; run_type: string; tags: string[]; metadata: Record<string, unknown> };

export type RunPayloads = { inputs: string | null; outputs: string | null };

/** A range of ids, as the beginning of one spans it. */
export type WantedIds = { workspaceId: string; ids: { from: string; to: string } | null; limit: number };
export type FoundRunId = { id: string; project_id: string; name: string; run_type: string };
