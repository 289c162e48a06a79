import { AppError, invalidField } from "../../platform/errors.ts";
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

/** What clients made as large as they liked. */
export const payloadFields = ["inputs", "outputs", "error", "extra", "events", "serialized"] as const;

export type FoundRuns = {
  rows: RunRow[];
  /** Where to go on; null when this was all. */
  next: Cursor | null;
};

const cursorPattern =
  /^(\d{4,6}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z)\/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?:\/(.*))?$/s;

export function writeCursor({ startTime, id, key }: Cursor): string {
  return Buffer.from(`${startTime}/${id}${key === undefined ? "" : `/${key}`}`).toString("base64url");
}

/** `sorted`: whether the list is sorted by something else than the start, and whether that is a number. */
export function readCursor(
  text: string,
  loc: (string | number)[],
  sorted: { isSorted: boolean; isNumber?: boolean } = { isSorted: false },
): Cursor {
  const found = cursorPattern.exec(Buffer.from(text, "base64url").toString());
  if (
    !found ||
    (found[3] !== undefined) !== sorted.isSorted ||
    (sorted.isNumber && Number.isNaN(Number(found[3])))
  ) {
    throw invalidField(loc, "This server did not return this cursor. Start again without a cursor.", text);
  }
  const place = { startTime: found[1]!, id: found[2]! };
  return found[3] === undefined ? place : { ...place, key: found[3] };
}

/** A run that exists, but not in the place the caller named. */
export function notInPlace(runId: string, place: "project" | "trace"): AppError {
  return new AppError({
    code: "traces.run_not_found",
    kind: "not_found",
    message: `Run ${runId} is not in the ${place} of the request. Send its own, or leave it out.`,
  });
}

/** An answer without pages: half a trace must not look like a whole one. */
export function traceTooLarge(traceId: string, instead: string): AppError {
  return new AppError({
    code: "traces.trace_too_large",
    kind: "too_large",
    message: `Trace ${traceId} does not fit into one response. Select fewer fields, or ${instead}.`,
  });
}

export function runNotFound(runId: string): AppError {
  return new AppError({
    code: "traces.run_not_found",
    kind: "not_found",
    message: `Run ${runId} not found in this workspace. It may not have arrived yet, or its project was deleted.`,
  });
}
