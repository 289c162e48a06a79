import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../clock.ts";
import type { Database, Sql, Unlisten } from "../db/database.ts";
import { AppError, errorMessage } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { type Backoff, describeFailure, type Job, type LeasedJob, nextAttempt } from "./job.ts";
import { createJobLeases, type HeldJob, leaseLost } from "./job-leases.ts";
import { jobChannel } from "./job-statements.ts";
import * as store from "./job-store.ts";

export type JobContext = {
  job: Job;
  /** 1 for the first. */
  attempt: number;
  /** Aborted when the lease is lost, the job cancelled or the worker stopped; the reason is an AppError. */
  signal: AbortSignal;
  /** The worker beats by itself; this asks at once and throws when the job is not ours any more. */
  heartbeat(): Promise<void>;
  /** Inside the handler's own transaction: throws unless the job is ours until that transaction ends. */
  fence(tx: Sql): Promise<void>;
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
};

export type JobWorker = {
  start(): Promise<void>;
  /** Waits for running jobs, then aborts them and gives them back to the queue, so none counts as interrupted. */
  stop(options?: { graceMs?: number }): Promise<{ interrupted: string[] }>;
};

const minWaitMs = 50;
const maxRetryWaitMs = 5_000;
/** How long an aborted handler may take to end before its job is left to the lease. */
const abortGraceMs = 1_000;

export function createJobWorker(options: JobWorkerOptions): JobWorker {
  const { database, clock, logger, handlers } = options;
  const { concurrency = 4, leaseMs = 30_000, heartbeatMs = 10_000, sweepMs = 30_000 } = options;
  if (heartbeatMs * 2 > leaseMs) {
    throw new Error(`A job lease of ${leaseMs} ms must outlive two heartbeats of ${heartbeatMs} ms.`);
  }
  const kinds = Object.keys(handlers);
  const owner = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  const leases = createJobLeases({ database, logger, leaseMs, heartbeatMs });
  const running = new Set<Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let unlisten: Unlisten | undefined;
  let stopping: Promise<{ interrupted: string[] }> | undefined;
  let interrupted = false;
  let pumping = false;
  let pumped = Promise.resolve();
  let swept = Promise.resolve();
  /** There may be due jobs nobody has asked for yet. */
  let wanted = false;
  let failures = 0;

  const wake = () => {
    wanted = true;
    pump();
  };

  /** One claim at a time, so that they come in batches. */
  const pump = () => {
    if (pumping) return;
    pumping = true;
    pumped = claimAll();
  };

  /** Claims until there is no room or nothing due. */
  const claimAll = async () => {
    try {
      while (wanted && stopping === undefined && running.size < concurrency) {
        wanted = false;
        const limit = concurrency - running.size;
        const jobs = await store.claimDue(database, { kinds, now: clock.now(), limit, owner, leaseMs });
        // What a stop overtook goes into the same grace as what ran before it.
        for (const job of jobs) begin(job);
        if (jobs.length === limit) wanted = true;
        else if (!wanted) {
          const waitMs = await store.readNextWake(database, { kinds, now: clock.now(), owner });
          // Due but not given to us means locked by a transaction: look again soon, not at once.
          sweepAfter(Math.min(sweepMs, Math.max(minWaitMs, waitMs ?? sweepMs)));
        }
        failures = 0;
      }
    } catch (error) {
      failures += 1;
      logger.warn({ err: error }, "the job queue could not be read, trying again");
      sweepAfter(Math.min(maxRetryWaitMs, minWaitMs * 2 ** failures));
    } finally {
      pumping = false;
    }
  };

  const sweepAfter = (waitMs: number) => {
    clearTimeout(timer);
    if (stopping === undefined) timer = setTimeout(sweep, Math.ceil(waitMs));
  };

  const sweep = () => {
    swept = reclaim().then(wake);
  };

  const reclaim = async () => {
    try {
      for (const job of await store.reclaimExpired(database)) {
        logger.warn(
          { job: job.id, kind: job.kind, status: job.status },
          "job taken back from a worker that died",
        );
      }
    } catch (error) {
      logger.warn({ err: error }, "jobs of dead workers could not be taken back, trying again later");
    }
  };

  const begin = (job: LeasedJob) => {
    const work = attempt(leases.hold(job)).finally(() => {
      running.delete(work);
      if (wanted) pump();
    });
    running.add(work);
  };

  const attempt = async (held: HeldJob) => {
    const log = logger.child({ job: held.job.id, kind: held.job.kind, attempt: held.job.attempts });
    try {
      const write = await runHandler(held, log);
      held.settling = true;
      await settle(held, write, log);
    } catch (error) {
      log.error({ err: error }, "job left unfinished: it will run again when its lease ends");
    } finally {
      leases.drop(held);
    }
  };

  /** Runs the handler and answers what is to be written of it. */
  const runHandler = async (held: HeldJob, log: Logger): Promise<() => Promise<boolean>> => {
    const { job } = held;
    try {
      const handler = handlers[job.kind];
      if (handler === undefined) throw new Error(`No handler for jobs of kind ${job.kind}.`);
      await handler(contextOf(held));
      return () => store.markSucceeded(database, job);
    } catch (error) {
      if (held.lost !== undefined) return async () => false;
      if (interrupted) return () => store.releaseLease(database, job);
      const { attempts, maxAttempts } = job;
      const failure = describeFailure(error, attempts);
      const input = { error, attempts, maxAttempts, now: clock.now(), random: Math.random() };
      const next = nextAttempt({ ...input, ...(options.backoff && { backoff: options.backoff }) });
      if (next.status === "dead") {
        log.error({ err: error }, "job failed for good");
        return () => store.markDead(database, job, failure);
      }
      log.warn({ reason: errorMessage(error), runAt: next.runAt }, "job failed, it will be tried again");
      return () => store.markForRetry(database, job, next.runAt, failure);
    }
  };

  /** Tries as long as the lease holds: the work is done, and a short outage must not make it run twice. */
  const settle = async (held: HeldJob, write: () => Promise<boolean>, log: Logger) => {
    for (let round = 0; held.lost === undefined; round += 1) {
      try {
        if (await write()) return;
        break;
      } catch (error) {
        if (!(error instanceof AppError && error.retryable)) throw error;
        log.warn({ err: error }, "the result of a job could not be written, trying again");
        await delay(Math.min(heartbeatMs, minWaitMs * 2 ** round));
      }
    }
    log.warn({ reason: held.lost?.code ?? "job.lease_lost" }, "the result of a job was not accepted");
  };

  const contextOf = (held: HeldJob): JobContext => ({
    job: held.job,
    attempt: held.job.attempts,
    signal: held.controller.signal,
    async heartbeat() {
      held.controller.signal.throwIfAborted();
      await leases.extend(held);
      held.controller.signal.throwIfAborted();
    },
    async fence(tx) {
      if (held.lost !== undefined || !(await store.lockLease(tx, held.job)))
        throw held.lost ?? leaseLost(held.job);
    },
  });

  const onMessage = (payload: string) => {
    const [event, subject] = [
      payload.slice(0, payload.indexOf(":")),
      payload.slice(payload.indexOf(":") + 1),
    ];
    if (event === "due" && kinds.includes(subject)) wake();
    if (event !== "cancel") return;
    for (const held of leases.all()) if (held.job.id === subject) leases.lose(held, cancelled(held.job));
  };

  const stop = async (graceMs: number) => {
    clearTimeout(timer);
    await unlisten?.();
    await swept;
    await pumped;
    await settledWithin(running, graceMs);
    if (running.size > 0) {
      interrupted = true;
      for (const held of leases.all()) held.controller.abort(workerStopping(held.job));
      await settledWithin(running, abortGraceMs);
      for (const { job } of leases.all()) {
        logger.warn(
          { job: job.id, kind: job.kind },
          "job still running at stop: another worker takes it after its lease",
        );
      }
    }
    leases.stop();
    return { interrupted: [] };
  };

  return {
    async start() {
      unlisten = await database.listen(jobChannel, onMessage, sweep);
      sweep();
      await swept;
    },
    stop({ graceMs = 0 } = {}) {
      stopping ??= Promise.resolve().then(() => stop(graceMs));
      return stopping;
    },
  };
}

async function settledWithin(running: Set<Promise<void>>, waitMs: number): Promise<void> {
  if (running.size === 0) return;
  const patience = new AbortController();
  const timeout = delay(waitMs, undefined, { signal: patience.signal }).catch(() => undefined);
  await Promise.race([Promise.allSettled(running), timeout]);
  patience.abort();
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
