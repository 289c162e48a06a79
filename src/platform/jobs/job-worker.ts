import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../clock.ts";
import type { Database, Sql, Unlisten } from "../db/database.ts";
import { AppError, errorMessage } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { graceStop } from "../work/grace-stop.ts";
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
  stop(options?: { graceMs?: number }): Promise<Stopped>;
};

const minWaitMs = 50;
/** How long an aborted handler may take to end before its job is left to the lease. */
const abortGraceMs = 1_000;

export function createJobWorker(options: JobWorkerOptions): JobWorker {
  const { database, clock, logger, handlers } = options;
  const { concurrency = 4, leaseMs = 30_000, heartbeatMs = 10_000, sweepMs = 30_000 } = options;
  const kinds = Object.keys(handlers);
  const owner = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  const settling = new Set<LeasedJob>();
  const isSettling = (job: LeasedJob) => settling.has(job);
  const leases = createJobLeases({ database, logger, leaseMs, heartbeatMs, isSettling });
  const running = new Set<Promise<void>>();
  let unlisten: Unlisten | undefined;
  let stopping: Promise<Stopped> | undefined;
  /** The grace is over: what runs is aborted, and nothing begins any more. */
  let interrupted = false;
  /** There may be due jobs that found no room here. */
  let isFull = false;

  /** Claims until there is no room or nothing due. */
  const look = async (woken: boolean): Promise<number | null> => {
    // What is announced is new; what dead workers left comes to light by its time.
    if (!woken) await reclaim();
    for (;;) {
      const limit = concurrency - running.size;
      isFull = limit <= 0;
      if (isFull || stopping) return null;
      const until = leases.until();
      const jobs = await store.claimDue(database, { kinds, now: clock.now(), limit, owner, leaseMs });
      // What a stop overtook goes into the same grace as what ran before it.
      for (const job of jobs) begin(leases.hold(job, until));
      if (jobs.length < limit) break;
    }
    return (await store.readNextWake(database, { kinds, now: clock.now(), owner })) ?? null;
  };

  const loop = new WakeLoop({
    look,
    rules: { heartbeatMs: sweepMs, minWaitMs },
    onFailure: (error) => logger.warn({ err: error }, "the job queue could not be read, trying again"),
  });

  const reclaim = async () => {
    try {
      for (const { id, kind, status } of await store.reclaimExpired(database)) {
        logger.warn({ job: id, kind, status }, "job taken back from a worker that died");
      }
    } catch (error) {
      logger.warn({ err: error }, "jobs of dead workers could not be taken back, trying again later");
    }
  };

  const begin = (held: HeldJob) => {
    const work = attempt(held).finally(() => {
      running.delete(work);
      if (isFull) loop.wake();
    });
    running.add(work);
  };

  const attempt = async (held: HeldJob) => {
    const job = held.subject;
    const log = logger.child({ job: job.id, kind: job.kind, attempt: job.attempts });
    try {
      // The answer to the claim may have come too late, or when nothing is to be begun any more.
      if (held.isOver || interrupted) {
        await store.releaseLease(database, job);
        return;
      }
      const write = await runHandler(held, log);
      settling.add(job);
      await settle(held, write, log);
    } catch (error) {
      log.error({ err: error }, "job left unfinished: it will run again when its lease ends");
    } finally {
      settling.delete(job);
      leases.drop(held);
    }
  };

  /** Runs the handler and answers what is to be written of it. */
  const runHandler = async (held: HeldJob, log: Logger): Promise<() => Promise<boolean>> => {
    const job = held.subject;
    try {
      const handler = handlers[job.kind];
      if (handler === undefined) throw new Error(`No handler for jobs of kind ${job.kind}.`);
      await handler(contextOf(held));
      return () => store.markSucceeded(database, job);
    } catch (error) {
      if (held.isOver) return async () => false;
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
    for (let round = 0; !held.isOver; round += 1) {
      try {
        if (await write()) return;
        break;
      } catch (error) {
        if (!(error instanceof AppError && error.retryable)) throw error;
        log.warn({ err: error }, "the result of a job could not be written, trying again");
        await delay(Math.min(heartbeatMs, minWaitMs * 2 ** round));
      }
    }
    const { reason } = held.stop.signal as { reason: unknown };
    log.warn(
      { reason: reason instanceof AppError ? reason.code : "job.lease_lost" },
      "the result of a job was not accepted",
    );
  };

  const contextOf = (held: HeldJob): JobContext => ({
    job: held.subject,
    attempt: held.subject.attempts,
    signal: held.stop.signal,
    async heartbeat() {
      requireLease(held);
      held.stop.signal.throwIfAborted();
      await leases.renewNow(held);
      held.stop.signal.throwIfAborted();
    },
    async fence(tx) {
      requireLease(held);
      if (!(await store.lockLease(tx, held.subject))) throw leaseLost(held.subject);
    },
  });

  const onMessage = (payload: string) => {
    const [event, subject] = [
      payload.slice(0, payload.indexOf(":")),
      payload.slice(payload.indexOf(":") + 1),
    ];
    if (event === "due" && kinds.includes(subject)) loop.wake();
    if (event !== "cancel") return;
    for (const held of leases.held) if (held.subject.id === subject) held.giveUp(cancelled(held.subject));
  };

  const stop = async (graceMs: number): Promise<Stopped> => {
    await graceStop({
      graceMs,
      lastStepMs: abortGraceMs,
      stopTaking: () => Promise.all([unlisten?.(), loop.stop()]),
      underWay: () => running,
      abort() {
        interrupted = true;
        for (const { stop, subject } of leases.held) stop.abort(workerStopping(subject));
        return leases.held.map(({ subject }) => subject.id);
      },
    });
    interrupted = true;
    for (const { subject } of leases.held) {
      const { id, kind } = subject;
      logger.warn({ job: id, kind }, "job still running at stop: another worker takes it after its lease");
    }
    leases.stop();
    return { interrupted: [] };
  };

  return {
    async start() {
      unlisten = await database.listen(jobChannel, onMessage, () => loop.wake());
      await reclaim();
      loop.wake();
    },
    stop({ graceMs = 0 } = {}) {
      stopping ??= Promise.resolve().then(() => stop(graceMs));
      return stopping;
    },
  };
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
