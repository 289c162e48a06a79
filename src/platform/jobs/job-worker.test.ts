import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { type Clock, systemClock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { raw } from "../db/raw.ts";
import { AppError } from "../errors.ts";
import { newId } from "../ids.ts";
import { createLogger } from "../logger.ts";
import type { JobStatus } from "./job.ts";
import { cancelJob, enqueue, getJob, listDead } from "./job-queue.ts";
import { jobChannel } from "./job-statements.ts";
import { markSucceeded, reclaimExpired } from "./job-store.ts";
import { type JobContext, JobWorker, type JobWorkerOptions } from "./job-worker.ts";

const logger = createLogger({ level: "silent" });
let test: TestDatabase;
let database: Database;
const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  test = await createTestDatabase();
  database = test.database;
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(() => test.drop());

async function startWorker(
  options: Pick<JobWorkerOptions, "handlers"> & Partial<JobWorkerOptions>,
): Promise<JobWorker> {
  const worker = new JobWorker({ database, clock: systemClock, logger, ...options });
  cleanups.push(() => worker.stop());
  await worker.start();
  return worker;
}

function settableClock(): Clock & { set(to: Date): void } {
  let at = new Date();
  return {
    now: () => at,
    set: (to) => {
      at = to;
    },
  };
}

/** Lets a test hold a handler until it has looked around. */
function createGate() {
  const begun = Promise.withResolvers<JobContext>();
  const opened = Promise.withResolvers<void>();
  return {
    begun: begun.promise,
    open: () => opened.resolve(),
    handler: async (context: JobContext) => {
      begun.resolve(context);
      await opened.promise;
    },
  };
}

const untilStatus = (id: string, status: JobStatus, attempts?: number) =>
  expect
    .poll(() => getJob(database.sql, id), { timeout: 20_000, interval: 20 })
    .toMatchObject({ status, ...(attempts !== undefined && { attempts }) });

const untilWaitingForLock = () =>
  expect
    .poll(
      async () => {
        const { rows } = await raw<{ count: number }>`select count(*)::int as count from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(database.sql);
        return rows[0]?.count;
      },
      { timeout: 20_000, interval: 20 },
    )
    .toBe(1);

const untilAborted = async (signal: AbortSignal): Promise<AppError> => {
  if (!signal.aborted) await once(signal, "abort");
  return signal.reason as AppError;
};

const busy = () =>
  new AppError({ code: "webhook.run_not_over", kind: "unavailable", message: "Busy. Try later." });

describe("due jobs", () => {
  it("runs what was there before it started and what comes afterwards", async () => {
    const seen: unknown[] = [];
    const before = await enqueue(database.sql, { kind: "plain", payload: { n: 1 } });
    await startWorker({
      handlers: {
        plain: async ({ job, attempt }) => {
          seen.push([job.payload, attempt]);
        },
      },
    });
    await untilStatus(before.id, "succeeded");
    const after = await enqueue(database.sql, { kind: "plain", payload: { n: 2 } });
    await untilStatus(after.id, "succeeded", 1);
    expect(seen).toEqual([
      [{ n: 1 }, 1],
      [{ n: 2 }, 1],
    ]);
  });

  it("leaves kinds it has no handler for to others", async () => {
    const other = await enqueue(database.sql, { kind: "unhandled" });
    await startWorker({ handlers: { handled: async () => {} } });
    await untilStatus((await enqueue(database.sql, { kind: "handled" })).id, "succeeded");
    expect((await getJob(database.sql, other.id)).status).toBe("pending");
  });

  it("does not run a job before its time, and runs it by the timer when the time has come", async () => {
    const ran: string[] = [];
    await startWorker({
      handlers: {
        timed: async ({ job }) => {
          ran.push(job.id);
        },
      },
    });
    const late = await enqueue(database.sql, { kind: "timed", runAt: new Date(Date.now() + 3_600_000) });
    const soon = await enqueue(database.sql, { kind: "timed", runAt: new Date(Date.now() + 300) });
    await untilStatus(soon.id, "succeeded");
    const { startedAt, runAt } = await getJob(database.sql, soon.id);
    expect(startedAt?.getTime()).toBeGreaterThanOrEqual(runAt.getTime());
    expect(ran).toEqual([soon.id]);
    expect((await getJob(database.sql, late.id)).status).toBe("pending");
  });

  it("runs no more at once than it may", async () => {
    let [now, most] = [0, 0];
    await startWorker({
      concurrency: 8,
      handlers: {
        crowd: async ({ heartbeat }) => {
          now += 1;
          most = Math.max(most, now);
          // Statements of several jobs at once, which must not lock one another out.
          for (let n = 0; n < 5; n += 1) await heartbeat();
          now -= 1;
        },
      },
    });
    const jobs = await database.transaction(async (tx) => {
      const all = [];
      for (let n = 0; n < 200; n += 1) all.push(await enqueue(tx, { kind: "crowd" }));
      return all;
    });
    for (const job of jobs) await untilStatus(job.id, "succeeded", 1);
    expect(most).toBe(8);
  });
});

describe("failures", () => {
  it("retries a retryable error with back-off until it succeeds", async () => {
    const clock = settableClock();
    const backoff = { firstMs: 3_600_000, maxMs: 86_400_000 };
    await startWorker({
      clock,
      backoff,
      handlers: {
        shaky: async ({ attempt, job }) => {
          if (attempt < 3 && job.payload !== "steady") throw busy();
        },
      },
    });
    const { id } = await enqueue(database.sql, { kind: "shaky" });
    for (const attempt of [1, 2]) {
      await untilStatus(id, "pending", attempt);
      const { runAt, lastError } = await getJob(database.sql, id);
      expect(lastError).toEqual({
        code: "webhook.run_not_over",
        message: "Busy. Try later.",
        retryable: true,
        attempt,
      });
      const waitMs = runAt.getTime() - clock.now().getTime();
      expect(waitMs).toBeGreaterThanOrEqual((backoff.firstMs * 2 ** (attempt - 1)) / 2);
      expect(waitMs).toBeLessThanOrEqual(backoff.firstMs * 2 ** (attempt - 1));
      // Once a later job has run, the worker has looked and left this one alone.
      await untilStatus((await enqueue(database.sql, { kind: "shaky", payload: "steady" })).id, "succeeded");
      expect((await getJob(database.sql, id)).attempts).toBe(attempt);
      clock.set(runAt);
      await database.notify(jobChannel, "due:shaky");
    }
    await untilStatus(id, "succeeded", 3);
    expect((await getJob(database.sql, id)).lastError).toBeNull();
  });

  it("buries a job after its last attempt and keeps it for people to see", async () => {
    await startWorker({
      backoff: { firstMs: 1, maxMs: 1 },
      handlers: {
        hopeless: async () => {
          throw busy();
        },
      },
    });
    const { id } = await enqueue(database.sql, { kind: "hopeless", maxAttempts: 3 });
    await untilStatus(id, "dead", 3);
    expect((await listDead(database.sql, { kind: "hopeless" })).map((job) => job.id)).toEqual([id]);
  });

  it("buries a job at once when the error is not retryable", async () => {
    await startWorker({
      handlers: {
        defect: async () => {
          throw new TypeError("x is not a function\u0000");
        },
      },
    });
    const { id } = await enqueue(database.sql, { kind: "defect" });
    await untilStatus(id, "dead", 1);
    expect((await getJob(database.sql, id)).lastError).toMatchObject({
      code: "job.defect",
      message: "x is not a function\uFFFD",
    });
  });
});

describe("leases", () => {
  const short = { leaseMs: 1_500, heartbeatMs: 300 };

  it("keep a job longer than the lease as long as the worker beats", async () => {
    const gate = createGate();
    const second = createGate();
    await startWorker({ ...short, handlers: { long: gate.handler } });
    const { id } = await enqueue(database.sql, { kind: "long" });
    const { signal } = await gate.begun;
    await startWorker({ ...short, sweepMs: 100, handlers: { long: second.handler } });
    // The database's clock decides, so it is the one to wait for.
    await expect
      .poll(
        async () => {
          const { rows } = await raw<{ passed: boolean }>`select
            now() > started_at + interval '2500 milliseconds' as passed from jobs where id = ${id}`.execute(
            database.sql,
          );
          return rows[0]?.passed;
        },
        { timeout: 20_000 },
      )
      .toBe(true);
    expect(signal.aborted).toBe(false);
    gate.open();
    await untilStatus(id, "succeeded", 1);
  });

  it("abort the handler and refuse its result once another worker has the job", async () => {
    const gate = createGate();
    let fenced: unknown;
    const worker = await startWorker({
      ...short,
      handlers: {
        stolen: async (context) => {
          await gate.handler(context);
          fenced = await database.transaction((tx) => context.fence(tx)).catch((error: unknown) => error);
        },
      },
    });
    const { id } = await enqueue(database.sql, { kind: "stolen" });
    const context = await gate.begun;
    await database.transaction((tx) => context.fence(tx));
    await context.heartbeat();

    const leaseToken = newId();
    await raw`update jobs set lease_owner = 'thief', lease_token = ${leaseToken},
      lease_expires_at = now() + interval '1 hour' where id = ${id}`.execute(database.sql);
    expect(await untilAborted(context.signal)).toMatchObject({ code: "job.lease_lost" });
    await expect(context.heartbeat()).rejects.toMatchObject({ code: "job.lease_lost" });
    gate.open();
    await expect.poll(() => fenced).toMatchObject({ code: "job.lease_lost" });
    await worker.stop({ graceMs: 20_000 });
    expect((await getJob(database.sql, id)).status).toBe("running");
    expect(await markSucceeded(database, { id, leaseToken })).toBe(true);
  });

  it("hold against a takeover and a cancellation while the handler's fenced transaction is open", async () => {
    const fenced = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    await startWorker({
      handlers: {
        fenced: ({ fence, heartbeat }) =>
          database.transaction(async (tx) => {
            await fence(tx);
            fenced.resolve();
            await opened.promise;
            await heartbeat();
          }),
      },
    });
    const { id } = await enqueue(database.sql, { kind: "fenced" });
    await fenced.promise;
    await raw`update jobs set lease_expires_at = now() where id = ${id}`.execute(database.sql);
    expect(await reclaimExpired(database)).toEqual([]);
    const cancelled = cancelJob(database.sql, id).catch((error: unknown) => error);
    await untilWaitingForLock();
    expect((await getJob(database.sql, id)).status).toBe("running");
    opened.resolve();
    await cancelled;
    expect((await getJob(database.sql, id)).attempts).toBe(1);
  });

  it("end with a cancellation, which the handler hears of at once", async () => {
    const gate = createGate();
    // The heartbeat is far away, so that only the notification can have woken it.
    const worker = await startWorker({
      leaseMs: 600_000,
      heartbeatMs: 300_000,
      handlers: { cancelled: gate.handler },
    });
    const { id } = await enqueue(database.sql, { kind: "cancelled" });
    const { signal } = await gate.begun;
    await cancelJob(database.sql, id);
    expect(await untilAborted(signal)).toMatchObject({ code: "job.cancelled" });
    gate.open();
    await worker.stop({ graceMs: 20_000 });
    expect((await getJob(database.sql, id)).status).toBe("cancelled");
  });

  it("must outlive two heartbeats", () => {
    const options = { database, clock: systemClock, logger, handlers: {} };
    expect(() => new JobWorker({ ...options, leaseMs: 1_000, heartbeatMs: 600 })).toThrow("two heartbeats");
  });
});

describe("stop", () => {
  it("lets running jobs finish within the grace and starts no others", async () => {
    const gate = createGate();
    const worker = await startWorker({ concurrency: 1, handlers: { graceful: gate.handler } });
    const first = await enqueue(database.sql, { kind: "graceful" });
    await gate.begun;
    const second = await enqueue(database.sql, { kind: "graceful" });
    const stopped = worker.stop({ graceMs: 20_000 });
    gate.open();
    await stopped;
    expect((await getJob(database.sql, first.id)).status).toBe("succeeded");
    expect(await getJob(database.sql, second.id)).toMatchObject({ status: "pending", attempts: 0 });
  });

  it("aborts what takes longer and gives it back without counting the attempt", async () => {
    const begun = Promise.withResolvers<void>();
    const worker = await startWorker({
      handlers: {
        interrupted: async ({ signal }) => {
          begun.resolve();
          await once(signal, "abort");
          signal.throwIfAborted();
        },
      },
    });
    const { id } = await enqueue(database.sql, { kind: "interrupted" });
    await begun.promise;
    await worker.stop({ graceMs: 0 });
    expect(await getJob(database.sql, id)).toMatchObject({ status: "pending", attempts: 0, lastError: null });
    await startWorker({ handlers: { interrupted: async () => {} } });
    await untilStatus(id, "succeeded", 1);
  });
});
