import type { Feedback, FeedbackChange } from "../runs/feedback.ts";
import type { QueuedRun } from "../runs/flush-plan.ts";
import type { Retention } from "../runs/retention.ts";
import type { RunChange } from "../runs/run-change.ts";
import type { RunKey } from "../runs/stored-run.ts";
import type {
  FoundRunId,
  FoundRuns,
  Page,
  RunField,
  RunPayloads,
  RunQuery,
  SeenRun,
  WantedIds,
} from "./run-query.ts";
import type {
  Bucket,
  BucketStats,
  ExampleOutcome,
  ExampleScore,
  FeedbackStats,
  ProjectStats,
  RunFigures,
  RunStats,
  ThreadNumbers,
  ThreadPage,
  ThreadSummary,
  Window,
} from "./run-stats.ts";

/**
 * Where runs are kept. What is asked and answered are values of the rules: parsed filters, cursors, rows. No statement
 * and no transaction passes through, so that another engine can stand here. A query finds runs of its workspace's
 * projects that are not deleted, and no others.
 */
export type RunStorage = {
  writing: RunWriting;
  reading: RunReading;
  statistics: RunStatistics;
  feedback: RunFeedback;
  removal: RunRemoval;
  /** Makes what the coming weeks need; called at the start and every few hours. */
  prepare(): Promise<void>;
};

/** A project, which its id alone would name in every workspace. */
export type RunPlace = { workspaceId: string; projectId: string };

/** The root of a trace of OpenTelemetry: its children know it as the run of its span, but its run has the trace's id. */
export type RootSpan = { traceId: string; spanRunId: string };

export interface RunWriting {
  /**
   * How much is written together, at most. An engine that works on a workspace in one place at a time says how many workspaces it
   * works on at once, so that none waits for another.
   */
  readonly atOnce: { rows: number; bytes: number; workspaces?: number };
  /**
   * Merges the changes of each run with what is stored of it (`runs/flush-plan.ts`), all rows or none, and resolves when
   * they are stored. It may be called again with the same rows, which must end as writing them once. Two processes that
   * make the same run make one. Returns the changes that were refused, because their sender may not write to the run's
   * project. Throws an error of the kinds that name a part when the content of a row cannot be stored.
   *
   * What a run spent is part of the totals of all runs above it when this resolves, if they are stored by then.
   *
   * With `onBusy`, it does not wait for workspaces that somebody else works on: their rows are not written, and it is called.
   */
  write(rows: readonly QueuedRun[], onBusy?: (workspaceId: string) => void): Promise<ReadonlySet<RunChange>>;
  /**
   * Runs that are stored although patches still wait for them: both were written at the same moment. With `since`, patches
   * that have waited for longer may be left out.
   */
  listOvertaken(limit: number, since?: Date): Promise<RunKey[]>;
  /** Adds up tokens and costs that still wait for runs that are stored, and answers for how many; `since` as for patches. */
  settleOvertaken(limit: number, since?: Date): Promise<number>;
  /** Removes what has waited since before this time for runs that did not come. */
  forgetWaiting(before: Date): Promise<void>;
  /** The span ids of stored roots, by trace. */
  findRootSpans(workspaceId: string, traceIds: readonly string[]): Promise<Map<string, string>>;
  /** Puts runs that came before the root of their trace below it, and adds up what they spent. */
  relink(workspaceId: string, roots: readonly RootSpan[]): Promise<void>;
}

/**
 * A read that takes too long, or too much of the database, ends with `traces.query_timeout`; one whose filters the engine
 * cannot take in with `traces.query_too_large`.
 */
export interface RunReading {
  /** One page, in the order of start and id, or of `page.sort`. Ends early at `maxPageBytes`; one run always fits. */
  find(query: RunQuery, page: Page, fields: ReadonlySet<RunField>): Promise<FoundRuns>;
  /** The runs of one trace, in the order of the tree. */
  findTrace(
    query: RunQuery & { traceId: string },
    limit: number,
    fields: ReadonlySet<RunField>,
  ): Promise<FoundRuns>;
  /** Some of the newest runs of a project, and the keys of its feedback, the most frequent first. */
  seen(place: RunPlace): Promise<{ runs: SeenRun[]; feedbackKeys: string[] }>;
  /** Inputs and outputs of runs by id, JSON text; what the client sent as null is null. */
  payloadsOf(workspaceId: string, ids: readonly string[]): Promise<Map<string, RunPayloads>>;
  /** The project a stored run is in. */
  projectOf(workspaceId: string, runId: string): Promise<string | undefined>;
  findByIds(wanted: WantedIds): Promise<FoundRunId[]>;
}

export interface RunStatistics {
  /** All the runs a query finds, in numbers. */
  sum(query: RunQuery): Promise<RunStats>;
  /** The same per stretch of time, oldest first, and in all; stretches without runs are left out. */
  sumByTime(query: RunQuery, bucket: Bucket): Promise<{ total: RunStats; buckets: BucketStats[] }>;
  /** The feedback on the runs a query finds, by key. */
  sumFeedback(query: RunQuery): Promise<FeedbackStats>;
  /** Threads whose roots a query finds, the most recent first; one more than the limit if there is more. */
  listThreads(query: RunQuery, page: ThreadPage): Promise<ThreadSummary[]>;
  countThreads(query: RunQuery): Promise<number>;
  sumThread(query: RunQuery, threadId: string): Promise<ThreadNumbers>;
  /** The feedback on the traces of threads, by thread. */
  sumThreadFeedback(query: RunQuery, threadIds: readonly string[]): Promise<Map<string, FeedbackStats>>;
  ofProjects(workspaceId: string, projectIds: readonly string[]): Promise<Map<string, ProjectStats>>;
  /** When the last run of each of the workspace's projects began; projects without runs are left out. */
  lastStarts(workspaceId: string): Promise<Map<string, string>>;
  /** Of root runs that began in the window: of one project, or of all but experiments. */
  figures(workspaceId: string, projectId: string | null, window: Window): Promise<RunFigures>;
  hasRuns(workspaceId: string, projectId: string | null, window: Window): Promise<boolean>;
  /** Differs whenever one of the newest runs of the workspace's projects came or ended. */
  mark(workspaceId: string): Promise<string>;
  /** What experiments made of examples; at most `limit` of each. */
  scores(
    workspaceId: string,
    asked: { ids: readonly string[]; comparisonId: string | undefined; limit: number },
  ): Promise<{ scores: ExampleScore[]; outcomes: ExampleOutcome[] }>;
}

/**
 * How feedback changes. Its table belongs to the database, whatever the engine; but filters and statistics of runs look
 * at it, and what it is stored with comes from the run.
 */
export interface RunFeedback {
  /**
   * Sent again, feedback replaces what was sent before, but never that of another workspace, or of another project than
   * the one that is given. The trace and project of a run that is stored are filled in. Returns what was written.
   */
  save(feedback: readonly Feedback[], onlyProjectId?: string): Promise<Feedback[]>;
  update(workspaceId: string, id: string, change: FeedbackChange, now: Date): Promise<Feedback | undefined>;
  remove(workspaceId: string, id: string): Promise<boolean>;
  /** Sets the project and trace of feedback that came before its run. */
  settleEarly(): Promise<void>;
}

/** Attachments and feedback go with their runs. A removal that was cut short is completed by the next one. */
export interface RunRemoval {
  /** Removes up to `limit` runs of a project; returns how many. */
  removeOfProject(place: RunPlace, limit: number): Promise<number>;
  /** The same for whole traces of a project. */
  removeOfTraces(place: RunPlace, traceIds: readonly string[], limit: number): Promise<number>;
  /** Removes what was said of a project itself, and of runs of it that are gone. */
  removeFeedbackOf(place: RunPlace): Promise<void>;
  /** Removes all runs that are past their time. */
  removeExpired(retentions: readonly Retention[], now: Date, signal: AbortSignal): Promise<void>;
}
