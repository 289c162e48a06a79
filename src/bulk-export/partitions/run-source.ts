import type { BlobCredentials } from "../../platform/blob/blob-store.ts";
import type { RowReader } from "../../platform/db/copy/row-reader.ts";
import type { ColumnKind } from "../parquet/column.ts";
import type { Compression } from "../parquet/page-codec.ts";

/** Where exports read traces. The area that keeps them implements it; the two meet in the composition root. */
export type RunSource = {
  /** Throws the 422 that names the field when the text is no filter. */
  checkFilter(filter: string, field: "filter" | "trace_filter"): void;
  projectExists(workspaceId: string, projectId: string): Promise<boolean>;
  /** Projects that are experiments, the oldest first. */
  listExperiments(workspaceId: string): Promise<string[]>;
  /** The UTC days (`YYYY-MM-DD`) within the window that have runs of the project, in order. */
  listDays(input: DaysOfProject): Promise<string[]>;
  /** How many runs there are; the engine's guess when counting them takes longer than `timeoutMs`. */
  countRuns(input: CountRuns): Promise<{ rows: number; estimate: boolean }>;
  /**
   * What reads the runs of a project in the order of (start_time, id), in the thread that writes them. The first two
   * fields are always start_time and id; the rest are those asked for and no others.
   */
  selectRuns(input: SelectRuns): SelectedRuns;
  /** Of an engine that writes files itself: their bytes need not come here. */
  engine?: EngineWriting | undefined;
};

export type EngineWriting = {
  /** For each file its window, in order, so that it has about so many raw bytes; none where there are no runs. */
  cut(selection: SelectRuns, fileBytes: number, signal: AbortSignal): Promise<FileWindow[]>;
  /**
   * Writes one object and answers how many rows are in it. It is there wholly or not at all when this ends, also by an
   * abort, unless the engine is away. Undefined, and nothing is written, where it cannot write this one. Meanwhile `onRows` hears
   * from time to time how many rows it has written, where that can be told.
   */
  write(
    input: EngineFile,
    signal: AbortSignal,
    onRows: (rows: number) => Promise<void>,
  ): Promise<number | undefined>;
  /** Ends writing that another process has begun under this name. */
  end(name: string): Promise<void>;
};

/** UTC texts with microseconds; the first inclusive, the second exclusive. */
export type FileWindow = { from: string; to: string; runs: number };

export type EngineFile = {
  /** The same for all files of a partition. */
  name: string;
  /** Its fields are the columns, in their order. */
  selection: SelectRuns;
  target: ObjectTarget;
  compression: Compression;
  groupBytes: number;
  groupRows: number;
};

/** An object by its URL, with what is stored about it. */
export type ObjectTarget = {
  url: string;
  credentials: BlobCredentials;
  metadata: Record<string, string>;
};

export type DaysOfProject = { workspaceId: string; projectId: string; from: string; to: string };

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

export type SelectedRuns = { reader: RowReader; fields: { name: string; kind: ColumnKind }[] };

/** A place in the order of runs: time as UTC text with microseconds. Runs of one time are in the order the engine has. */
export type RunCursor = { startTime: string; id: string };
