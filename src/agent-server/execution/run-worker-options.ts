import type { Database } from "../../platform/db/database.ts";
import type { Logger } from "../../platform/logger.ts";
import type { ThreadFeed } from "../delivery/thread-feed.ts";
import type { ClaimedRun } from "../runs/run.ts";
import type { RunResult } from "../runs/run-end.ts";
import type { RunExecutor } from "./run-executor.ts";

export type RunWorkerOptions = {
  database: Database;
  executor: RunExecutor;
  feed: ThreadFeed;
  logger: Logger;
  processId: string;
  /** The processes that take runs, in the same order for all. */
  takers(): readonly string[];
  graphIds: readonly string[];
  concurrency: number;
  leaseMs: number;
  runTimeoutMs: number;
  /** Called before the end of a run is written; what it throws leaves the run to another attempt. */
  beforeEnd(run: ClaimedRun, result: RunResult): Promise<void>;
  /** Called when a run ended and everything about it is committed. Only a stop waits for it. */
  onEnd(run: ClaimedRun, result: RunResult): Promise<void>;
  /** Called when a run ended because its attempts were all lost. */
  onExhausted(run: ClaimedRun, result: RunResult): void;
  /** Takes back a run that was cancelled with `rollback`; called instead of finishing it. */
  onRollback(run: ClaimedRun, result: RunResult): Promise<void>;
};
