import type { Database, Unlisten } from "../../platform/db/database.ts";
import { WriteBatcher } from "../../platform/db/write-batcher.ts";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { speaksProtocol, terminalRow } from "../protocol/terminal-event.ts";
import { leaseLost } from "../streaming/event-log.ts";
import type { ThreadFeed } from "../streaming/thread-feed.ts";
import { type CancelAction, type ClaimedRun, maxAttempts } from "./run.ts";
import type { RunExecutor, RunResult, StopReason } from "./run-executor.ts";
import {
  claimDueRuns,
  extendLeases,
  type FinishedRun,
  findExhausted,
  finishRunRows,
  nextDueAt,
  releaseLeases,
  requeueExpired,
} from "./run-store.ts";
import { StartGate } from "./start-gate.ts";

export const runsChannel = "treadle_runs";

export type RunWorkerOptions = {
  database: Database;
  executor: RunExecutor;
  feed: ThreadFeed;
  logger: Logger;
  processId: string;
  graphIds: readonly string[];
  concurrency: number;
  leaseMs: number;
  runTimeoutMs: number;
  /** Called before the end of a run is written; what it throws leaves the run to another attempt. */
  beforeEnd(run: ClaimedRun, result: RunResult): Promise<void>;
  /** Called when a run ended and everything about it is committed; nobody waits for it but a stop. */
  onEnd(run: ClaimedRun, result: RunResult): Promise<void>;
  /** Takes back a run that was cancelled with `rollback`; called instead of finishing it. */
  onRollback(run: ClaimedRun, result: RunResult): Promise<void>;
};

type ActiveRun = { run: ClaimedRun; stop: AbortController; done: Promise<RunResult | null> };
type Finish = { accepted: boolean; more: boolean };

/**
 * Holds the leases of this process: takes due runs, keeps their leases alive, ends them.
 * Wake-ups come by NOTIFY, by a timer for the next delayed run, and by a slow sweep for dead processes.
 */
export class RunWorker {
  readonly #options: RunWorkerOptions;
  readonly #active = new Map<string, ActiveRun>();
  readonly #following = new Set<Promise<unknown>>();
  readonly #finishes: WriteBatcher<FinishedRun, Finish>;
  readonly #gate: StartGate;
  #unlisten: Unlisten | undefined;
  #beat: NodeJS.Timeout | undefined;
  #dueTimer: NodeJS.Timeout | undefined;
  #claiming: Promise<void> | undefined;
  #claimAgain = false;
  #reserved = 0;
  /** Whether runs may be waiting for room in this process. */
  #backlog = false;
  #stopping = false;

  constructor(options: RunWorkerOptions) {
    this.#options = options;
    this.#gate = new StartGate(() => options.feed.isHeard);
    this.#finishes = new WriteBatcher<FinishedRun, Finish>({
      name: "run_finish",
      lanes: 2,
      maxRows: 200,
      maxBytes: 4_000_000,
      bytesOf: (row) => (row.outcome.valuesJson?.length ?? 0) + 300,
      write: (rows) => finishRunRows(options.database, rows),
    });
  }

  get leaseSeconds(): number {
    return this.#options.leaseMs / 1000;
  }

  get activeCount(): number {
    return this.#active.size;
  }

  async start(): Promise<void> {
    this.#unlisten = await this.#options.database.listen(
      runsChannel,
      (payload) => this.#onMessage(payload),
      () => this.wake(),
    );
    this.#beat = setInterval(() => this.#heartbeat(), this.#options.leaseMs / 4);
    this.#beat.unref();
    await this.#sweep();
    this.wake();
  }

  /** Room for a run that is about to be inserted as already claimed. */
  reserve(): boolean {
    if (this.#stopping) return false;
    if (this.#active.size + this.#reserved >= this.#options.concurrency) {
      this.#backlog = true;
      return false;
    }
    this.#reserved += 1;
    return true;
  }

  release(): void {
    this.#reserved -= 1;
  }

  /** Starts a run this process holds the lease of. */
  begin(claimed: ClaimedRun): Promise<RunResult | null> {
    // The thread did not exist yet when somebody began to listen, so its row does not tell.
    const run = this.#options.feed.awaited.has(claimed.thread_id) ? { ...claimed, protocol: true } : claimed;
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort("timeout" satisfies StopReason), this.#options.runTimeoutMs);
    timer.unref();
    const done = this.#execute(run, stop).finally(() => {
      clearTimeout(timer);
      this.#active.delete(run.run_id);
      this.#options.feed.close(run.thread_id);
      if (this.#backlog) this.wake();
    });
    this.#active.set(run.run_id, { run, stop, done });
    this.#follow(run, done);
    return done;
  }

  /** The end of a run of this process, or undefined when it runs elsewhere or not at all. */
  resultOf(runId: string): Promise<RunResult | null> | undefined {
    return this.#active.get(runId)?.done;
  }

  /** Stops a run if it is ours; others are told by NOTIFY. */
  cancel(runId: string, action: CancelAction): boolean {
    const active = this.#active.get(runId);
    active?.stop.abort(action satisfies StopReason);
    return active !== undefined;
  }

  wake(): void {
    if (this.#stopping) return;
    if (this.#claiming) {
      this.#claimAgain = true;
      return;
    }
    this.#claiming = this.#claim()
      .catch((error: unknown) =>
        this.#options.logger.warn({ reason: errorMessage(error) }, "could not take runs"),
      )
      .finally(() => {
        this.#claiming = undefined;
        if (this.#claimAgain) {
          this.#claimAgain = false;
          this.wake();
        }
      });
  }

  /** Lets runs finish for the grace period, then gives the rest back to the queue. Returns what it interrupted. */
  async stop(graceMs: number): Promise<string[]> {
    this.#stopping = true;
    clearTimeout(this.#dueTimer);
    await this.#unlisten?.();
    await this.#claiming;
    const all = Promise.allSettled([...this.#active.values()].map((active) => active.done));
    await Promise.race([all, new Promise((resolve) => setTimeout(resolve, graceMs).unref())]);
    const left = [...this.#active.values()];
    if (left.length > 0) {
      for (const active of left) active.stop.abort("shutdown" satisfies StopReason);
      await Promise.race([all, new Promise((resolve) => setTimeout(resolve, 2_000).unref())]);
      await releaseLeases(
        this.#options.database,
        left.map((active) => active.run.run_id),
        this.#options.processId,
      );
      await this.#options.database.notify(runsChannel, "wake");
    }
    await Promise.all(this.#following);
    clearInterval(this.#beat);
    return left.map((active) => `run ${active.run.run_id} (returned to the queue)`);
  }

  /** What is to be done after a run, without making those who wait for its result wait for that too. */
  #follow(run: ClaimedRun, done: Promise<RunResult | null>): void {
    const followed = done.then(async (result) => {
      if (result) await this.#options.onEnd(run, result);
    });
    const tracked = followed
      .catch((error: unknown) =>
        this.#options.logger.error({ runId: run.run_id, err: error }, "after-run work failed"),
      )
      .finally(() => this.#following.delete(tracked));
    this.#following.add(tracked);
  }

  async #execute(run: ClaimedRun, stop: AbortController): Promise<RunResult | null> {
    const { logger, executor } = this.#options;
    try {
      await this.#gate.enter();
      const result = await executor.execute(run, stop);
      if (stop.signal.reason === "rollback") {
        await this.#options.onRollback(run, result);
        // Its log is gone with it; readers learn of the end from here, those elsewhere by looking for the run.
        this.publishEnd(run, result);
      } else await this.#finish(run, result);
      return result;
    } catch (error) {
      const reason = stop.signal.reason as StopReason | undefined;
      if (reason === "lease_lost" || reason === "shutdown") {
        logger.info({ runId: run.run_id, reason }, "run left to another attempt");
      } else {
        // Its lease runs out and another attempt goes on from the last checkpoint.
        logger.error({ runId: run.run_id, err: error }, "run could not be ended");
      }
      return null;
    }
  }

  async #finish(run: ClaimedRun, result: RunResult): Promise<void> {
    await this.#options.beforeEnd(run, result);
    const { accepted, more } = await this.#finishes.add({
      runId: run.run_id,
      attempt: run.attempt,
      lastSeq: result.lastSeq,
      outcome: result.outcome,
      terminal: result.terminal,
    });
    if (!accepted) throw leaseLost(run.run_id);
    this.publishEnd(run, result);
    if (more) this.wake();
  }

  publishEnd(run: ClaimedRun, result: RunResult): void {
    const { terminal, lastSeq } = result;
    const ofRun = { threadId: run.thread_id, runId: run.run_id };
    this.#options.feed.publish([
      ...(terminal ? [{ ...ofRun, ...terminal, seq: lastSeq - 1, family: "protocol" as const }] : []),
      {
        ...ofRun,
        seq: lastSeq,
        family: "control",
        name: "end",
        namespace: "",
        data: JSON.stringify({ status: result.outcome.status, error: result.outcome.error }),
      },
    ]);
  }

  async #claim(): Promise<void> {
    const { database, processId, concurrency, graphIds } = this.#options;
    const room = concurrency - this.#active.size - this.#reserved;
    if (room <= 0) {
      this.#backlog = true;
      return;
    }
    const runs = await claimDueRuns(database, {
      limit: room,
      owner: processId,
      leaseSeconds: this.leaseSeconds,
      graphIds,
    });
    // Full again: there may be more, and the next run to end makes room for it.
    this.#backlog = runs.length === room;
    for (const run of runs) void this.begin(run);
    if (runs.length === 0) await this.#armTimer();
  }

  async #armTimer(): Promise<void> {
    const due = await nextDueAt(this.#options.database);
    clearTimeout(this.#dueTimer);
    if (!due || this.#stopping) return;
    const wait = Math.min(Math.max(due.getTime() - Date.now(), 0) + 5, 3_600_000);
    this.#dueTimer = setTimeout(() => this.wake(), wait);
    this.#dueTimer.unref();
  }

  #onMessage(payload: string): void {
    const [word, runId, action] = payload.split(":");
    if (word === "cancel" && runId) this.cancel(runId, action === "rollback" ? "rollback" : "interrupt");
    else this.wake();
  }

  #heartbeat(): void {
    void this.#keepLeases()
      .then(() => this.#sweep())
      .catch((error: unknown) =>
        this.#options.logger.warn(
          { reason: errorMessage(error) },
          "could not renew the leases of running runs",
        ),
      );
  }

  async #keepLeases(): Promise<void> {
    if (this.#active.size === 0) return;
    const before = [...this.#active.values()];
    const held = new Map(
      (await extendLeases(this.#options.database, this.#options.processId, this.leaseSeconds)).map(
        (lease) => [lease.run_id, lease],
      ),
    );
    for (const { run, stop } of before) {
      const lease = held.get(run.run_id);
      if (lease?.cancel_action) stop.abort(lease.cancel_action satisfies StopReason);
      // Not ours any more: either it has just ended, which makes this moot, or somebody else has it.
      else if (!lease || lease.attempt !== run.attempt) stop.abort("lease_lost" satisfies StopReason);
    }
  }

  /** Puts runs of dead processes back into the queue, or ends them when their attempts are used up. */
  async #sweep(): Promise<void> {
    const { database, logger } = this.#options;
    for (const run of await findExhausted(database, maxAttempts)) {
      const error = {
        error: "AttemptsExhausted",
        message: `The run was started ${run.attempt} times and its process ended each time before it was done.`,
      };
      const outcome = {
        status: "error",
        threadStatus: "error",
        error,
        valuesJson: null,
        interruptsJson: "{}",
      } as const;
      const terminal = speaksProtocol(run) ? terminalRow(run, outcome, Date.now()) : null;
      const resultJson = JSON.stringify({ __error__: error });
      const result = { outcome, resultJson, terminal, lastSeq: run.last_seq + (terminal ? 2 : 1) };
      await this.#finish(run, result);
      await this.#options.onEnd(run, result);
    }
    const back = await requeueExpired(database, maxAttempts);
    if (back.length > 0) {
      logger.warn({ runs: back.map((row) => row.run_id) }, "runs of a dead process are started again");
      this.wake();
    }
  }
}
