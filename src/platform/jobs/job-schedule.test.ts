import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import type { Clock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { raw } from "../db/raw.ts";
import { createLogger } from "../logger.ts";
import { enqueue, getJob } from "./job-queue.ts";
import { every, everyDue, pruneJob, type RecurringJob } from "./job-schedule.ts";
import { jobChannel } from "./job-statements.ts";
import { JobWorker } from "./job-worker.ts";

const hourMs = 3_600_000;
// In the middle of an hour to come: due by this clock alone, and no hour ends while the test runs.
const baseMs = (Math.floor(Date.now() / hourMs) + 2) * hourMs;
const start = new Date(baseMs + hourMs / 2);
let test: TestDatabase;
let database: Database;
beforeAll(async () => {
  test = await createTestDatabase();
  database = test.database;
});
afterAll(() => test.drop());

async function workWith(jobs: RecurringJob[], clock: Clock) {
  const handlers = Object.fromEntries(jobs.map((job) => [job.kind, job.handler]));
  const worker = new JobWorker({ database, clock, logger: createLogger({ level: "silent" }), handlers });
  await worker.start();
  return worker;
}

/** Which hours have a job, and how it stands. */
async function rowsOf(kind: string) {
  const { rows } = await raw<{ status: string; run_at: Date }>`select status, run_at from jobs
    where kind = ${kind} order by run_at`.execute(database.sql);
  return rows.map((row) => [(row.run_at.getTime() - baseMs) / hourMs, row.status]);
}

it("runs once per period, whatever the number of processes, restarts and failures", async () => {
  let at = start;
  const clock = { now: () => at };
  let runs = 0;
  const create = () =>
    every({
      database,
      clock,
      kind: "hourly",
      everyMs: hourMs,
      handler: async () => {
        runs += 1;
        if (runs === 1) throw new Error("the first one fails for good");
      },
    });
  const processes = [create(), create(), create()];
  await Promise.all(processes.map((process) => process.start()));
  const workers = await Promise.all(processes.map((process) => workWith([process], clock)));
  await expect
    .poll(() => rowsOf("hourly"))
    .toEqual([
      [0, "dead"],
      [1, "pending"],
    ]);

  at = new Date(at.getTime() + hourMs);
  await database.notify(jobChannel, "due:hourly");
  await expect
    .poll(() => rowsOf("hourly"))
    .toEqual([
      [0, "dead"],
      [1, "succeeded"],
      [2, "pending"],
    ]);
  // A restart in a period that has had its run adds nothing.
  await create().start();
  expect(await rowsOf("hourly")).toHaveLength(3);
  expect(runs).toBe(2);

  // Nothing ran for five periods: one run, and then the next period.
  await Promise.all(workers.map((worker) => worker.stop()));
  at = new Date(at.getTime() + 5 * hourMs);
  const worker = await workWith([create()], clock);
  await expect
    .poll(() => rowsOf("hourly"))
    .toEqual([
      [0, "dead"],
      [1, "succeeded"],
      [2, "succeeded"],
      [7, "pending"],
    ]);
  await worker.stop();
});

it("queues nothing in periods in which there is nothing to do", async () => {
  let isDue = false;
  const clock = { now: () => start };
  const logger = createLogger({ level: "silent" });
  const create = () =>
    everyDue({
      ...{ database, clock, logger, kind: "sweep", everyMs: hourMs },
      isDue: async () => isDue,
      handler: async () => undefined,
    });
  const processes = [create(), create()];
  try {
    for (const process of processes) await process.start();
    expect(await rowsOf("sweep")).toEqual([]);
    isDue = true;
    processes.push(create(), create());
    await Promise.all(processes.slice(2).map((process) => process.start()));
    expect(await rowsOf("sweep")).toEqual([[0, "pending"]]);
  } finally {
    for (const process of processes) process.stop?.();
  }
  const worker = await workWith([create()], clock);
  await expect.poll(() => rowsOf("sweep")).toEqual([[0, "succeeded"]]);
  await worker.stop();
});

it("prunes the queue by a job of the queue", async () => {
  const clock = { now: () => start };
  const done = await enqueue(database.sql, { kind: "done" });
  await raw`update jobs set status = 'succeeded', finished_at = now() - interval '3 days'
    where id = ${done.id}`.execute(database.sql);
  const prune = pruneJob({ database, clock, keepDays: 2 });
  await prune.start();
  const worker = await workWith([prune], clock);
  await expect
    .poll(() => rowsOf("jobs.prune"))
    .toEqual([
      [0, "succeeded"],
      [1, "pending"],
    ]);
  await expect(getJob(database.sql, done.id)).rejects.toMatchObject({ kind: "not_found" });
  await worker.stop();
});
