/** Runs as exports ask for them. */
export type RunSelection = {
  workspaceId: string;
  projectId: string;
  /** UTC texts with microseconds; the first inclusive, the second exclusive. */
  from: string;
  to: string;
  /** Only what comes after this run. */
  after: { startTime: string; id: string } | null;
  filter: string | null;
  /** On the root of a run's trace. */
  traceFilter: string | null;
  fields: readonly string[];
};

export type CountRuns = Pick<RunSelection, "workspaceId" | "from" | "to" | "filter" | "traceFilter"> & {
  projectIds: readonly string[];
  /** After this time the count is given up, and the engine's estimate is the answer. */
  timeoutMs: number;
};

export type RunCount = { rows: number; estimate: boolean };
