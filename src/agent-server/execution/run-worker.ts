import { Batcher, outageRetries } from "../../platform/db/batch/batcher.ts";
import { errorMessage } from "../../platform/errors.ts";
import { within } from "../../platform/within.ts";
import { graceStop } from "../../platform/work/grace-stop.ts";
import type { LeaseKeeper } from "../../platform/work/lease-keeper.ts";
import { WakeLoop } from "../../platform/work/wake-loop.ts";
import { isLeaseLost, leaseLost } from "../delivery/event-log.ts";
import { goesWithItsRun } from "../delivery/terminal-event.ts";
import { type CancelAction, type ClaimedRun, maxAttempts, runsChannel } from "../runs/run.ts";
import { firstEvent } from "../runs/run-beginning.ts";
import { lastEvents, type RunResult } from "../runs/run-end.ts";
import {
  claimDueLoneRun,
  claimDueRuns,
  extendLeases,
  type FinishedRun,
  findExhausted,
  findWork,
  finishRunRows,
  requeueExpired,
} from "../runs/run-store.ts";
import { exhaustedResult } from "./exhausted-run.ts";
import { HandBackQueue } from "./hand-back-queue.ts";
import { LostProcesses } from "./lost-processes.ts";
import { workFor } from "./run-at-work.ts";
import { RunCalls } from "./run-calls.ts";
import { handBackReason, type StopReason } from "./run-hand-back.ts";
import { createRunLeases } from "./run-leases.ts";
import { troubleOf } from "./run-trouble.ts";
import type { RunWorkerOptions } from "./run-worker-options.ts";
import { StartGate } from "./start-gate.ts";

type ActiveRun = { run: ClaimedRun; stop: AbortController; done: Promise<RunResult | null> };
type Finish = { accepted: boolean; more: boolean };

/** What a stop may take beyond its grace, in each of its last steps. */
const lastStepMs = 400;
/** A wake-up that was lost delays a run by no more than this, however long the lease is. */
const maxHeartbeatMs = 5_000;
/** The same for a process that is alone at its database: nobody else's wake-up could be lost. */
const maxLoneHeartbeatMs = 60_000;
/** After this margin, a run that is due here is due by the database's clock too. */
const dueMarginMs = 5;
/** How long a thread stays that was made for its run and does not go with it. */
const keptThreadSeconds = 60;
/** How long a busy process leaves a run that is to be alone to one that has nothing to do. */
const loneWaitMs = 60_000;

/**
 * Takes due runs, runs them and ends them. Wake-ups come by NOTIFY and by a timer for the next delayed run; every
 * heartbeat looks for itself, for what dead processes left and for lost wake-ups.
 */
export class RunWorker {
  readonly #options: RunWorkerOptions;
  readonly #active = new Map<string, ActiveRun>();
  readonly #following = new Set<Promise<unknown>>();
  readonly #finishes: Batcher<FinishedRun, Finish>;
  readonly #gate: StartGate;
  readonly #calls: RunCalls;
  readonly #leases: LeaseKeeper<ClaimedRun>;
  readonly #loop: WakeLoop;
  readonly #handBacks: HandBackQueue;
  readonly #lost = new LostProcesses();
  /** When the next delayed run becomes due, by the monotonic clock. */
  #nextDueAt: number | undefined;
  #reserved = 0;
  /** Whether runs may be waiting for room in this process. */
  #backlog = false;
  /** Since when this process knows that a run waits that is to have a process to itself. */
  #loneSince: number | undefined;
  /** Such a run is active here. */
  #loneRuns = false;
  /** From its start to its stop. A process that only serves never starts it, and takes no runs. */
  #takes = false;
  /** The stop is over, except for runs that do not stop. */
  #hasStopped = false;

  constructor(options: RunWorkerOptions) {
    this.#options = options;
    const { database, logger, processId, leaseMs } = options;
    this.#gate = new StartGate(() => options.feed.hasListeners);
    this.#calls = new RunCalls({
      ...{ database, processId },
      takers: () => options.takers(),
      // Runs that another process was to take are probably gone: whether any are left is asked first.
      onWork: (late) => (late ? this.#beat() : this.wake()),
      onCancel: (runId, action) => this.cancel(runId, action),
    });
    this.#leases = createRunLeases({
      ...{ database, logger, processId, leaseMs },
      onCancel: (run, action) => this.cancel(run.run_id, action),
    });
    const heartbeatMs = Math.min(leaseMs / 4, maxHeartbeatMs);
    this.#loop = new WakeLoop({
      look: (woken) => this.#look(woken),
      rules: { minWaitMs: dueMarginMs, maxRetryMs: heartbeatMs },
      // Runs of dead processes come to light at the ends of their leases.
      heartbeatMs: () => {
        const waits = this.#handBacks.isWaiting || this.#loneSince !== undefined || options.feed.othersListen;
        return waits ? heartbeatMs : Math.min(leaseMs * 2, maxLoneHeartbeatMs);
      },
      onFailure: (error) => logger.warn({ reason: errorMessage(error) }, "could not take runs"),
    });
    options.feed.whenOthersCome(() => this.#beat());
    this.#handBacks = new HandBackQueue({
      ...{ database, logger, processId, onAdded: () => this.#beat(), onDone: () => this.wakeAll() },
    });
    this.#finishes = new Batcher<FinishedRun, Finish>({
      ...{ name: "run_finish", lanes: 2, maxRows: 200, maxBytes: 4_000_000, retries: outageRetries },
      bytesOf: (row) =>
        row.events.reduce(
          (sum, event) => sum + event.data.length,
          (row.outcome.valuesJson?.length ?? 0) + 300,
        ),
      flush: (rows) => finishRunRows(options.database, rows),
    });
  }

  get leaseSeconds(): number {
    return this.#options.leaseMs / 1000;
  }

  async start(): Promise<void> {
    await this.#calls.start();
    this.#takes = true;
    await this.#sweep();
    this.wake();
  }

  /** Room for a run that is about to be inserted as already claimed. */
  reserve(): boolean {
    if (!this.#takes) return false;
    if (this.#room() <= 0) {
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
    // Claimed by a commit that was not confirmed, and found again when it was repeated: it has begun meanwhile.
    const begun = this.#active.get(claimed.run_id);
    if (begun) return begun.done;
    // The thread did not exist yet when a client began to listen, so its row is not marked.
    const run = this.#options.feed.awaited.has(claimed.thread_id) ? { ...claimed, protocol: true } : claimed;
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort("timeout" satisfies StopReason), this.#options.runTimeoutMs);
    timer.unref();
    if (run.cancel_action) stop.abort(run.cancel_action satisfies StopReason);
    if (run.alone) this.#loneRuns = true;
    this.#options.feed.open(run.thread_id, run.last_seq);
    if (run.begun) this.#options.feed.publish([firstEvent(run)]);
    const done = this.#execute(run, stop).finally(() => {
      clearTimeout(timer);
      this.#active.delete(run.run_id);
      if (run.alone) this.#loneRuns = false;
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

  /** Stops a run if it is ours; others are notified. */
  cancel(runId: string, action: CancelAction): boolean {
    const active = this.#active.get(runId);
    active?.stop.abort(action satisfies StopReason);
    return active !== undefined;
  }

  wake(): void {
    if (this.#takes) this.#loop.wake();
  }

  #beat(): void {
    if (this.#takes) this.#loop.beat();
  }

  /** What waits in the queue may be for this process or for another one. */
  wakeAll(): void {
    this.wake();
    const { feed, database } = this.#options;
    // A lost announcement only delays the run until the next heartbeat.
    if (feed.othersListen) database.notify(runsChannel, "wake").catch(() => undefined);
  }

  /**
   * Lets runs finish for the grace period, then gives the rest back to the queue. Returns what it interrupted. Takes
   * hardly longer than the grace period, even if graphs or the database hang.
   */
  async stop({ graceMs }: { graceMs: number }): Promise<{ interrupted: string[] }> {
    const deadline = performance.now() + graceMs;
    const stopped = await graceStop({
      graceMs,
      lastStepMs,
      stopTaking: () => {
        this.#takes = false;
        return Promise.all([this.#calls.stop(), this.#loop.stop()]);
      },
      underWay: () => [...this.#active.values()].map(({ done }) => done),
      abort: () => {
        const left = [...this.#active.values()];
        for (const { stop } of left) stop.abort("shutdown" satisfies StopReason);
        return left.map(({ run }) => `run ${run.run_id} (returned to the queue)`);
      },
      handBack: () => {
        this.#hasStopped = true;
        this.#leases.stop();
        // A run whose graph does not stop is given back too: the fence refuses what the graph still writes.
        for (const { run } of this.#active.values()) this.#handBacks.add(run, "shutdown");
        return this.#handBacks.flush();
      },
    });
    await within(Math.max(lastStepMs, deadline - performance.now()), Promise.all(this.#following));
    return stopped;
  }

  /** Work to do after a run. Clients that wait for the run's result do not wait for it. */
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
    const lease = this.#leases.hold(run, run.leaseUntil, stop);
    try {
      await this.#gate.enter();
      const result = await workFor(run.run_id, () => executor.execute(run, stop, lease));
      if (stop.signal.reason === "rollback") {
        const end = { ...result, unwritten: [], held: [] };
        await this.#options.onRollback(run, end);
        // Its log is gone with it; readers learn of the end from here, those elsewhere by looking for the run.
        this.publishEnd(run, end);
        this.wakeAll();
      } else await this.#finish(run, result);
      return result;
    } catch (error) {
      const stopped = stop.signal.reason as StopReason | undefined;
      const reason = handBackReason(stopped, troubleOf(error));
      if (reason === "worker_lost") this.#lost.note(run.run_id, errorMessage(error));
      if (reason) this.#handBacks.add(run, reason);
      else if (stopped === "lease_lost") logger.info({ runId: run.run_id }, "run left to another process");
      // Its lease runs out, and another attempt continues from the last checkpoint.
      else logger.error({ runId: run.run_id, err: error }, "run could not be ended");
      return null;
    } finally {
      this.#leases.drop(lease);
    }
  }

  async #finish(run: ClaimedRun, result: RunResult): Promise<void> {
    await this.#options.beforeEnd(run, result);
    const { outcome } = result;
    const { accepted, more } = await this.#finishes.add({
      run,
      outcome,
      ...lastEvents(run, result),
      keepSeconds: run.temporary && !goesWithItsRun(run) ? keptThreadSeconds : null,
    });
    if (!accepted) throw leaseLost(run.run_id);
    this.publishEnd(run, result);
    if (more) this.wake();
  }

  publishEnd(run: ClaimedRun, result: RunResult): void {
    this.#options.feed.publish(lastEvents(run, result).events);
  }

  #room(): number {
    return this.#loneRuns ? 0 : this.#options.concurrency - this.#active.size - this.#reserved;
  }

  async #claim(): Promise<void> {
    const { database, processId, graphIds } = this.#options;
    const how = { owner: processId, leaseSeconds: this.leaseSeconds, graphIds };
    if (this.#loneSince !== undefined && !this.#loneRuns) {
      const idle = this.#active.size + this.#reserved === 0;
      // By what this process has seen: after a time without any the run waited long, but its neighbours did, too.
      const waited = performance.now() - this.#loneSince >= loneWaitMs;
      const run = idle || waited ? await claimDueLoneRun(database, { ...how, idle }) : undefined;
      if (run) this.#take(run);
    }
    const room = this.#room();
    if (room <= 0) {
      this.#backlog = true;
      return;
    }
    const runs = await claimDueRuns(database, { ...how, limit: room });
    // Full again: there may be more, and the next run to end makes room for it.
    this.#backlog = runs.length === room;
    for (const run of runs) this.#take(run);
    if (runs.length > 0) return;
    const knew = this.#loneSince;
    await this.#findWork();
    // Only when it is news: one that cannot be taken yet is left to the heartbeats.
    if (knew === undefined && this.#loneSince !== undefined) this.wake();
  }

  /** The answer to a claim may come after the stop; what a stop only overtook has the same grace as the others. */
  #take(run: ClaimedRun): void {
    if (this.#hasStopped) this.#handBacks.add(run, "shutdown");
    else void this.begin(run);
  }

  /** When it was not woken, it looks for lost wake-ups and for runs of dead processes. */
  async #look(woken: boolean): Promise<number | null> {
    this.#calls.answered();
    if (!woken) {
      await this.#keepHandBacks();
      const { expired, due } = await this.#findWork();
      if (expired) await this.#sweep();
      if (!due && !expired) return this.#dueInMs();
    }
    await this.#claim();
    // When there is no room it is the end of a run that wakes it.
    return this.#backlog ? null : this.#dueInMs();
  }

  #dueInMs(): number | null {
    return this.#nextDueAt === undefined ? null : this.#nextDueAt - performance.now();
  }

  /** What there is to do, and when the next run becomes due. */
  async #findWork(): Promise<{ expired: boolean; due: boolean }> {
    const work = await findWork(this.#options.database);
    this.#loneSince = work.lone ? (this.#loneSince ?? performance.now()) : undefined;
    const dueInMs = work.next_due_ms;
    this.#nextDueAt = dueInMs === null ? undefined : performance.now() + dueInMs + dueMarginMs;
    return work;
  }

  /** Runs that wait for their time to be handed back are still ours. */
  async #keepHandBacks(): Promise<void> {
    const { database, processId } = this.#options;
    const { runIds } = this.#handBacks;
    if (runIds.length > 0) await extendLeases(database, runIds, processId, this.leaseSeconds);
  }

  /** Puts runs of dead processes back into the queue, or ends them when their attempts are used up. */
  async #sweep(): Promise<void> {
    const { database, logger } = this.#options;
    for (const run of await findExhausted(database, maxAttempts)) {
      const result = exhaustedResult(run, Date.now(), this.#lost.take(run.run_id));
      try {
        await this.#finish(run, result);
      } catch (error) {
        // Another process was first with this one; the others are still to be looked at.
        if (isLeaseLost(error)) continue;
        throw error;
      }
      this.#options.onExhausted(run, result);
      await this.#options.onEnd(run, result);
    }
    const back = await requeueExpired(database, maxAttempts);
    if (back.length > 0) {
      logger.warn({ runs: back.map((row) => row.run_id) }, "runs of a dead process are started again");
      this.wake();
    }
  }
}
