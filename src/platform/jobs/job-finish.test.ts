import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { keepLogs } from "../../../tests/support/logged-lines.ts";
import { platformFailure } from "../blob/platform-failure.ts";
import { systemClock } from "../clock.ts";
import type { Database } from "../db/database.ts";
import { raw } from "../db/raw.ts";
import { createLogger } from "../logger.ts";
import type { JobStatus } from "./job.ts";
import { enqueue, getJob } from "./job-queue.ts";
import { JobWorker, type JobWorkerOptions } from "./job-worker.ts";

const logger = createLogger({ level: "silent" });
let test: TestDatabase;
let database: Database;
const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  test = await createTestDatabase();
  database = test.database;
  await raw`create table written (job uuid)`.execute(database.sql);
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(() => test.drop());

async function startWorker(options: Pick<JobWorkerOptions, "handlers"> & Partial<JobWorkerOptions>) {
  const worker = new JobWorker({ database, clock: systemClock, logger, ...options });
  cleanups.push(() => worker.stop());
  await worker.start();
  return worker;
}

const untilStatus = (id: string, status: JobStatus) =>
  expect.poll(async () => (await getJob(database.sql, id)).status, { timeout: 20_000 }).toBe(status);

async function written(id: string): Promise<number> {
  const { rows } = await raw`select 1 from written where job = ${id}`.execute(database.sql);
  return rows.length;
}

describe("a job that finishes with a transaction of its handler", () => {
  it("has succeeded once that is committed, and not before", async () => {
    const inside = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const after = Promise.withResolvers<void>();
    const { id } = await enqueue(database.sql, { kind: "finishing" });
    await startWorker({
      heartbeatMs: 20,
      handlers: {
        async finishing({ job, finish }) {
          await database.transaction(async (tx) => {
            await finish(tx);
            await raw`insert into written (job) values (${job.id})`.execute(tx);
            inside.resolve();
            await goOn.promise;
          });
          // Heartbeats find it done meanwhile.
          await after.promise;
        },
      },
    });
    await inside.promise;
    expect((await getJob(database.sql, id)).status).toBe("running");
    expect(await written(id)).toBe(0);
    goOn.resolve();
    await untilStatus(id, "succeeded");
    expect(await written(id)).toBe(1);
    after.resolve();
  });

  it("is tried again when that is rolled back", async () => {
    let attempts = 0;
    const { id } = await enqueue(database.sql, { kind: "rolled-back" });
    await startWorker({
      backoff: { firstMs: 1, maxMs: 1 },
      handlers: {
        async "rolled-back"({ finish }) {
          attempts += 1;
          await database.transaction(async (tx) => {
            await finish(tx);
            if (attempts === 1) await raw`select pg_terminate_backend(pg_backend_pid())`.execute(tx);
          });
        },
      },
    });
    await untilStatus(id, "succeeded");
    expect(attempts).toBe(2);
  });

  it("is refused, with all that is written, once another worker has it", async () => {
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const refused = Promise.withResolvers<unknown>();
    let attempts = 0;
    const { id } = await enqueue(database.sql, { kind: "overtaken" });
    await startWorker({
      handlers: {
        async overtaken({ job, finish }) {
          attempts += 1;
          if (attempts === 1) {
            begun.resolve();
            await goOn.promise;
          }
          const done = database.transaction(async (tx) => {
            await raw`insert into written (job) values (${job.id})`.execute(tx);
            await finish(tx);
          });
          if (attempts === 1) await done.catch(refused.resolve);
          await done;
        },
      },
    });
    await begun.promise;
    // As for others, when the process stood still and its lease is over.
    await raw`update jobs set lease_token = gen_random_uuid(), lease_owner = 'another' where id = ${id}`.execute(
      database.sql,
    );
    goOn.resolve();
    expect(await refused.promise).toMatchObject({ code: "job.lease_lost" });
    expect(await written(id)).toBe(0);
  });
});

describe("a worker", () => {
  it("takes back at its start what an earlier one held at the same place, and nothing of others", async () => {
    const own = await enqueue(database.sql, { kind: "placed" });
    const other = await enqueue(database.sql, { kind: "placed" });
    for (const [id, owner] of [
      [own.id, "here:1"],
      [other.id, "here-too:1"],
    ]) {
      await raw`update jobs set status = 'running', attempts = 1, lease_owner = ${owner}, started_at = now(),
          lease_token = gen_random_uuid(), lease_expires_at = now() + interval '1 hour'
        where id = ${id}`.execute(database.sql);
    }
    await startWorker({ place: "here", handlers: { placed: async () => {} } });
    await untilStatus(own.id, "succeeded");
    expect(await getJob(database.sql, own.id)).toMatchObject({ attempts: 2 });
    expect(await getJob(database.sql, other.id)).toMatchObject({ status: "running" });
  });

  it("takes no more than it has room for, and looks again when one has ended", async () => {
    let going = 0;
    let most = 0;
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) ids.push((await enqueue(database.sql, { kind: "roomy" })).id);
    await startWorker({
      concurrency: 100,
      room: () => 2 - going,
      handlers: {
        async roomy() {
          going += 1;
          most = Math.max(most, going);
          await raw`select pg_sleep(0.02)`.execute(database.sql);
          going -= 1;
        },
      },
    });
    for (const id of ids) await untilStatus(id, "succeeded");
    expect(most).toBeLessThanOrEqual(2);
  });
});

it("what the storage said is in the server's log, and callers get the short words", async () => {
  const logs = keepLogs();
  const { id } = await enqueue(database.sql, { kind: "storing" });
  await startWorker({
    logger: logs.logger,
    handlers: {
      async storing() {
        throw platformFailure("blob.unreachable", "The folder /mnt/blobs cannot be reached.", null);
      },
    },
  });
  await expect.poll(logs.text, { timeout: 20_000 }).toContain("The folder /mnt/blobs cannot be reached.");
  await expect
    .poll(async () => (await getJob(database.sql, id)).lastError?.message, { timeout: 20_000 })
    .toMatch(/^The platform's storage cannot be reached at the moment\./);
});
