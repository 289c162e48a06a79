import type { Database, Sql } from "../../platform/db/database.ts";
import { terminalRow } from "../delivery/terminal-event.ts";
import type { ThreadFeed } from "../delivery/thread-feed.ts";
import { type CancelAction, type ClaimedRun, isActive, type RunHead, runsChannel } from "./run.ts";
import type { RunAnnouncer } from "./run-announcer.ts";
import type { RunResult } from "./run-end.ts";
import { endRolledBackRun, writeUnbegunEnd } from "./run-end-store.ts";
import type { RunHolder } from "./run-holder.ts";
import {
  type ActiveRunFilter,
  deleteRuns,
  fenceOff,
  findActiveRuns,
  findRunStatus,
  interruptPending,
  lockActiveRuns,
  lockRun,
  requestCancel,
  settleThread,
} from "./run-store.ts";
import { waitEnded } from "./wait-ended.ts";

/** What it takes to stop a run. */
export type StoppableRun = Pick<RunHead, "run_id" | "thread_id" | "graph_id" | "workspace_id">;

export type RunStopOptions = {
  database: Database;
  feed: ThreadFeed;
  worker: Pick<RunHolder, "cancel" | "resultOf">;
  webhooks: Pick<RunAnnouncer, "announceCancelled">;
  /** Resolves when no checkpoint of this process is on its way to the database. */
  drainCheckpoints(): Promise<void>;
  /** Removes a run's checkpoints and brings the thread's values back to what is left. */
  forgetCheckpoints(run: StoppableRun): Promise<void>;
};

const waitMs = 60_000;

/** Ends runs before they are done: one, all of a thread, or those that block a new one. */
export class RunStopService {
  readonly #options: RunStopOptions;

  constructor(options: RunStopOptions) {
    this.#options = options;
  }

  /** Asks a run to stop. A pending one ends at once; a running one when its graph has stopped. */
  async cancel(run: StoppableRun, action: CancelAction): Promise<void> {
    const status = await this.#options.database.transaction(async (tx) => {
      const locked = await lockRun(tx, run.run_id);
      if (locked) await this.#stopLocked(tx, { ...run, status: locked }, action);
      return locked;
    });
    if (status === "pending") await this.#tellEnded(run.thread_id);
    if (status === "running") await this.#tellHolder(run, action);
  }

  /**
   * Stops the runs that block a new run: `interrupt` keeps their progress, `rollback` removes it. They are locked until
   * each is stopped: if a waiting run began in between, its end would not be awaited.
   */
  async makeWay(workspaceId: string, threadId: string, action: CancelAction): Promise<void> {
    const active = await this.#options.database.transaction(async (tx) => {
      const locked = await lockActiveRuns(tx, workspaceId, threadId);
      for (const run of locked) await this.#stopLocked(tx, run, action);
      return locked;
    });
    const running = active.filter((run) => run.status === "running");
    if (running.length < active.length) await this.#tellEnded(threadId);
    for (const run of running) await this.#tellHolder(run, action);
    await Promise.all(running.map((run) => this.waitForEnd(threadId, run.run_id, stopLimit())));
  }

  async cancelMany(workspaceId: string, filter: ActiveRunFilter, action: CancelAction): Promise<number> {
    const found = await findActiveRuns(this.#options.database.sql, workspaceId, filter);
    for (const run of found) await this.cancel(run, action);
    return found.length;
  }

  /** Ends everything on a thread, for example because the thread is about to go. */
  async stopThread(workspaceId: string, threadId: string): Promise<void> {
    for (const run of await findActiveRuns(this.#options.database.sql, workspaceId, { threadId })) {
      await this.cancel(run, "interrupt");
      await this.waitForEnd(threadId, run.run_id, stopLimit());
    }
  }

  /** Called by the worker when a run was cancelled with `rollback`: as if it had never been. */
  async rollback(run: ClaimedRun, end: RunResult): Promise<void> {
    // A checkpoint still on its way must not arrive after the others were removed: from here on the fence refuses
    // new ones, and those under way are waited for.
    await fenceOff(this.#options.database.sql, run.run_id);
    await this.#options.drainCheckpoints();
    await this.#options.forgetCheckpoints(run);
    await this.#options.database.transaction(async (tx) => {
      await deleteRuns(tx, [run.run_id]);
      await endRolledBackRun(tx, run, end);
      await settleThread(tx, run.thread_id);
    });
  }

  /** Deletes a run, and first stops it if it is active. */
  async remove(run: RunHead): Promise<void> {
    if (isActive(run.status)) {
      await this.cancel(run, "rollback");
      await this.waitForEnd(run.thread_id, run.run_id, stopLimit());
      return;
    }
    await this.#options.forgetCheckpoints(run);
    await this.#options.database.transaction((tx) => deleteRuns(tx, [run.run_id]));
  }

  /** Resolves when the run is over, in any process; rejects when the signal fires first. */
  async waitForEnd(threadId: string, runId: string, signal: AbortSignal): Promise<void> {
    const { worker, feed } = this.#options;
    for await (const _ of feed.ends(threadId, signal)) {
      const local = worker.resultOf(runId);
      if (local) await local;
      if ((await this.statusOf(runId)) === "over") return;
    }
    throw waitEnded(runId);
  }

  async statusOf(runId: string): Promise<"active" | "over"> {
    const status = await findRunStatus(this.#options.database, runId);
    return status !== null && isActive(status) ? "active" : "over";
  }

  /** The run must be locked with this status. */
  async #stopLocked(
    tx: Sql,
    run: StoppableRun & Pick<RunHead, "status">,
    action: CancelAction,
  ): Promise<void> {
    if (run.status === "running") await requestCancel(tx, run.run_id, action);
    if (run.status !== "pending") return;
    await interruptPending(tx, run.run_id);
    if (action === "rollback") await deleteRuns(tx, [run.run_id]);
    else await this.#options.webhooks.announceCancelled(tx, run.run_id);
    await writeUnbegunEnd(tx, run, {
      terminal: terminalRow(run, { status: "interrupted", error: null }, Date.now()),
      endJson: JSON.stringify({ status: "interrupted", error: null }),
    });
  }

  async #tellEnded(threadId: string): Promise<void> {
    await settleThread(this.#options.database.sql, threadId);
    this.#options.feed.touch(threadId);
  }

  async #tellHolder({ run_id }: StoppableRun, action: CancelAction): Promise<void> {
    const { database, worker } = this.#options;
    if (!worker.cancel(run_id, action)) await database.notify(runsChannel, `cancel:${run_id}:${action}`);
  }
}

function stopLimit(): AbortSignal {
  return AbortSignal.timeout(waitMs);
}
