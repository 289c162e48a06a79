import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { operatorWords } from "../blob/platform-failure.ts";
import type { Clock } from "../clock.ts";
import type { Database, Sql, Unlisten } from "../db/database.ts";
import { AppError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { graceStop } from "../work/grace-stop.ts";
import type { LeaseKeeper } from "../work/lease-keeper.ts";
import { WakeLoop } from "../work/wake-loop.ts";
import { type Backoff, describeFailure, type Job, type LeasedJob, nextAttempt } from "./job.ts";
import { createJobLeases, type HeldJob, leaseLost } from "./job-leases.ts";
import { jobChannel } from "./job-statements.ts";
import * as store from "./job-store.ts";

type Stopped = { interrupted: string[] };

export type JobContext = {
  job: Job;
  /** 1 for the first. */
  attempt: number;
  /** Aborted when the lease is lost, the job cancelled or the worker stopped; the reason is an AppError. */
  signal: AbortSignal;
  /** The worker sends heartbeats itself; this sends one at once and throws when the job is no longer ours. */
  heartbeat(): Promise<void>;
  /** Inside the handler's own transaction: throws unless the job is ours until that transaction ends. */
  fence(tx: Sql): Promise<void>;
  /** The same, and the job has succeeded with that transaction: the last thing a handler does. */
  finish(tx: Sql): Promise<void>;
};

export type JobHandler = (context: JobContext) => Promise<void>;

export type JobWorkerOptions = {
  database: Database;
  clock: Clock;
  logger: Logger;
  handlers: Record<string, JobHandler>;
  /** Jobs this worker runs at once. */
  concurrency?: number;
  /** How long a job of a dead worker stays taken. */
  leaseMs?: number;
  heartbeatMs?: number;
  /** The longest time without looking, should a wake-up get lost. */
  sweepMs?: number;
  backoff?: Backoff;
  /** How long an aborted handler may take to end before its job is left to the lease. */
  abortGraceMs?: number;
  /** Of a place where only one process works at a time: what an earlier one held there is taken back at the start. */
  place?: string;
  /** How many more it may take now, where jobs that run have a limit of their own. Asked again when one ends. */
  room?(): number;
};

const minWaitMs = 50;

/** Takes due jobs under a lease and runs their handlers, as many at once as it may. */
export class JobWorker {
  readonly #options: JobWorkerOptions;
  readonly #concurrency: number;
  readonly #leaseMs: number;
  readonly #heartbeatMs: number;
  readonly #kinds: string[];
  readonly #owner: string;
  readonly #settling = new Set<LeasedJob>();
  /** Stored as succeeded by their handlers. */
  readonly #finished = new Set<LeasedJob>();
  readonly #leases: LeaseKeeper<LeasedJob>;
  readonly #running = new Set<Promise<void>>();
  #unlisten: Unlisten | undefined;
  #stopping: Promise<Stopped> | undefined;
  /** The grace is over: what runs is aborted, and nothing begins any more. */
  #interrupted = false;
  /** There may be due jobs that found no room here. */
  #isFull = false;
  readonly #loop: WakeLoop;

  constructor(options: JobWorkerOptions) {
    const { database, logger, handlers } = options;
    const { concurrency = 4, leaseMs = 30_000, heartbeatMs = 10_000, sweepMs = 30_000 } = options;
    this.#options = options;
    this.#concurrency = concurrency;
    this.#leaseMs = leaseMs;
    this.#heartbeatMs = heartbeatMs;
    this.#kinds = Object.keys(handlers);
    const place = options.place ?? `${hostname()}:${process.pid}`;
    this.#owner = `${place}:${randomUUID().slice(0, 8)}`;
    const isSettling = (job: LeasedJob) => this.#settling.has(job);
    this.#leases = createJobLeases({ database, logger, leaseMs, heartbeatMs, isSettling });
    this.#loop = new WakeLoop({
      look: (woken) => this.#look(woken),
      rules: { heartbeatMs: sweepMs, minWaitMs },
      onFailure: (error) => logger.warn({ err: error }, "the job queue could not be read, trying again"),
    });
  }

  async start(): Promise<void> {
    this.#unlisten = await this.#options.database.listen(
      jobChannel,
      (payload) => this.#onMessage(payload),
      () => this.#loop.wake(),
    );
    const { database, place } = this.#options;
    if (place !== undefined)
      await this.#takeBack(() => store.reclaimPlace(database, { kinds: this.#kinds, place }));
    await this.#takeBack(() => store.reclaimExpired(database));
    this.#loop.wake();
  }

  /** Waits for running jobs, then aborts them and gives them back to the queue, so none counts as interrupted. */
  stop({ graceMs = 0 }: { graceMs?: number } = {}): Promise<Stopped> {
    this.#stopping ??= Promise.resolve().then(() => this.#stop(graceMs));
    return this.#stopping;
  }

  /** Claims until there is no room or nothing due. */
  async #look(woken: boolean): Promise<number | null> {
    const { database, clock } = this.#options;
    const mine = { kinds: this.#kinds, owner: this.#owner };
    if (!woken) {
      const waitMs = await store.lookForJobs(database, { ...mine, now: clock.now() });
      if (waitMs === null || waitMs > 0) return waitMs;
      // What is announced is new; what dead workers left comes to light by its time.
      await this.#takeBack(() => store.reclaimExpired(database));
    }
    for (;;) {
      const limit = Math.min(
        this.#concurrency - this.#running.size,
        this.#options.room?.() ?? this.#concurrency,
      );
      this.#isFull = limit <= 0;
      if (this.#isFull || this.#stopping) return null;
      const until = this.#leases.until();
      const claim = { ...mine, now: clock.now(), limit, leaseMs: this.#leaseMs };
      const jobs = await store.claimDue(database, claim);
      // What a stop overtook goes into the same grace as what ran before it.
      for (const job of jobs) this.#begin(this.#leases.hold(job, until));
      if (jobs.length < limit) break;
    }
    return (await store.readNextWake(database, { ...mine, now: clock.now() })) ?? null;
  }

  async #takeBack(left: () => Promise<store.ReclaimedJob[]>): Promise<void> {
    const { logger } = this.#options;
    try {
      for (const { id, kind, status } of await left()) {
        logger.warn({ job: id, kind, status }, "job taken back from a worker that died");
      }
    } catch (error) {
      logger.warn({ err: error }, "jobs of dead workers could not be taken back, trying again later");
    }
  }

  #begin(held: HeldJob): void {
    const work = this.#attempt(held).finally(() => {
      this.#running.delete(work);
      if (this.#isFull) this.#loop.wake();
    });
    this.#running.add(work);
  }

  async #attempt(held: HeldJob): Promise<void> {
    const { logger, database } = this.#options;
    const job = held.subject;
    const log = logger.child({ job: job.id, kind: job.kind, attempt: job.attempts });
    try {
      // The answer to the claim may have come too late, or when nothing is to be begun any more.
      if (held.isOver || this.#interrupted) {
        await store.releaseLease(database, job);
        return;
      }
      const write = await this.#runHandler(held, log);
      this.#settling.add(job);
      await this.#settle(held, write, log);
    } catch (error) {
      log.error({ err: error }, "job left unfinished: it will run again when its lease ends");
    } finally {
      this.#settling.delete(job);
      this.#finished.delete(job);
      this.#leases.drop(held);
    }
  }

  /** Runs the handler and answers what is to be written of it. */
  async #runHandler(held: HeldJob, log: Logger): Promise<() => Promise<boolean>> {
    const { handlers, database, clock } = this.#options;
    const job = held.subject;
    try {
      const handler = handlers[job.kind];
      if (handler === undefined) throw new Error(`No handler for jobs of kind ${job.kind}.`);
      await handler(this.#contextOf(held));
      if (this.#finished.has(job)) return async () => true;
      return () => store.markSucceeded(database, job);
    } catch (error) {
      if (held.isOver) return async () => false;
      if (this.#interrupted) return () => store.releaseLease(database, job);
      const { attempts, maxAttempts } = job;
      const failure = describeFailure(error, attempts);
      const input = { error, attempts, maxAttempts, now: clock.now(), random: Math.random() };
      const next = nextAttempt({
        ...input,
        ...(this.#options.backoff && { backoff: this.#options.backoff }),
      });
      if (next.status === "dead") {
        log.error({ err: error, reason: operatorWords(error) }, "job failed for good");
        return () => store.markDead(database, job, failure);
      }
      // The whole reason is for the operator; the job keeps the words for callers.
      log.warn({ reason: operatorWords(error), runAt: next.runAt }, "job failed, it will be tried again");
      return () => store.markForRetry(database, job, next.runAt, failure);
    }
  }

  /** Tries as long as the lease holds: the work is done, and a short outage must not make it run twice. */
  async #settle(held: HeldJob, write: () => Promise<boolean>, log: Logger): Promise<void> {
    for (let round = 0; !held.isOver; round += 1) {
      try {
        if (await write()) return;
        break;
      } catch (error) {
        if (!(error instanceof AppError && error.retryable)) throw error;
        log.warn({ err: error }, "the result of a job could not be written, trying again");
        await delay(Math.min(this.#heartbeatMs, minWaitMs * 2 ** round));
      }
    }
    const { reason } = held.stop.signal as { reason: unknown };
    log.warn(
      { reason: reason instanceof AppError ? reason.code : "job.lease_lost" },
      "the result of a job was not accepted",
    );
  }

  #contextOf(held: HeldJob): JobContext {
    const leaseMs = this.#leaseMs;
    return {
      job: held.subject,
      attempt: held.subject.attempts,
      signal: held.stop.signal,
      heartbeat: async () => {
        requireLease(held);
        held.stop.signal.throwIfAborted();
        await this.#leases.renewNow(held);
        held.stop.signal.throwIfAborted();
      },
      async fence(tx) {
        requireLease(held);
        if (!(await store.lockLease(tx, held.subject, leaseMs))) throw leaseLost(held.subject);
      },
      finish: async (tx) => {
        requireLease(held);
        // A heartbeat may find it done before the handler has returned.
        this.#settling.add(held.subject);
        if (!(await store.finishWithin(tx, held.subject, leaseMs))) throw leaseLost(held.subject);
        this.#finished.add(held.subject);
      },
    };
  }

  #onMessage(payload: string): void {
    const [event, subject] = [
      payload.slice(0, payload.indexOf(":")),
      payload.slice(payload.indexOf(":") + 1),
    ];
    if (event === "due" && this.#kinds.includes(subject)) this.#loop.wake();
    if (event !== "cancel") return;
    for (const held of this.#leases.held) {
      if (held.subject.id === subject) held.giveUp(cancelled(held.subject));
    }
  }

  async #stop(graceMs: number): Promise<Stopped> {
    await graceStop({
      graceMs,
      lastStepMs: this.#options.abortGraceMs ?? 1_000,
      stopTaking: () => Promise.all([this.#unlisten?.(), this.#loop.stop()]),
      underWay: () => this.#running,
      abort: () => {
        this.#interrupted = true;
        for (const { stop, subject } of this.#leases.held) stop.abort(workerStopping(subject));
        return this.#leases.held.map(({ subject }) => subject.id);
      },
    });
    this.#interrupted = true;
    for (const { subject } of this.#leases.held) {
      const { id, kind } = subject;
      this.#options.logger.warn(
        { job: id, kind },
        "job still running at stop: another worker takes it after its lease",
      );
    }
    this.#leases.stop();
    return { interrupted: [] };
  }
}

/** Throws once the job is not ours any more: because of the lease, or because it was cancelled. */
function requireLease(held: HeldJob): void {
  if (!held.isOver) return;
  held.finish("ended");
  throw held.stop.signal.reason;
}

function cancelled(job: LeasedJob): AppError {
  return new AppError({
    code: "job.cancelled",
    kind: "conflict",
    message: `The ${job.kind} job ${job.id} was cancelled.`,
  });
}

function workerStopping(job: LeasedJob): AppError {
  return new AppError({
    code: "job.worker_stopping",
    kind: "unavailable",
    message: `The worker stops; the ${job.kind} job ${job.id} goes back into the queue.`,
  });
}
