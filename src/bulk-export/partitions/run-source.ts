import type { Sql } from "../../platform/db/database.ts";
import type { ColumnKind } from "../parquet/column.ts";

/** Where exports read traces. The area that keeps them implements it; the two meet in the composition root. */
export type RunSource = {
  /** Throws the 422 that names the field when the text is no filter. */
  checkFilter(filter: string, field: "filter" | "trace_filter"): void;
  projectExists(workspaceId: string, projectId: string): Promise<boolean>;
  /** Projects that are experiments, the oldest first. */
  listExperiments(sql: Sql, workspaceId: string): Promise<string[]>;
  /** The UTC days (`YYYY-MM-DD`) within the window that have runs of the project, in order. */
  listDays(sql: Sql, input: { projectId: string; from: string; to: string }): Promise<string[]>;
  /** How many runs there are; the planner's guess when counting them takes longer than `timeoutMs`. */
  countRuns(input: CountRuns): Promise<{ rows: number; estimate: boolean }>;
  /**
   * A select without parameters, for a binary COPY: the runs of a project in the order of (start_time, id). Its
   * first two fields are always start_time and id; the rest are those asked for and no others.
   */
  selectRuns(input: SelectRuns): SelectedRuns;
};

export type CountRuns = {
  workspaceId: string;
  projectIds: readonly string[];
  /** UTC texts with microseconds; the first inclusive, the second exclusive. */
  from: string;
  to: string;
  filter: string | null;
  /** On the root of a run's trace. */
  traceFilter: string | null;
  timeoutMs: number;
};

export type SelectRuns = {
  workspaceId: string;
  projectId: string;
  /** UTC texts with microseconds; the first inclusive, the second exclusive. */
  from: string;
  to: string;
  /** Only what comes after this run. */
  after: RunCursor | null;
  filter: string | null;
  /** On the root of a run's trace. */
  traceFilter: string | null;
  fields: readonly string[];
};

export type SelectedRuns = { select: string; fields: { name: string; kind: ColumnKind }[] };

/** A place in the order of runs: time as UTC text with microseconds. */
export type RunCursor = { startTime: string; id: string };
