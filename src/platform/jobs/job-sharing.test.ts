import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { systemClock } from "../clock.ts";
import { openDatabase } from "../db/connection/open-database.ts";
import type { Database } from "../db/database.ts";
import { raw } from "../db/raw.ts";
import { createLogger } from "../logger.ts";
import { enqueue, getJob } from "./job-queue.ts";
import { type JobHandler, JobWorker } from "./job-worker.ts";

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

/** With connections of its own, as another process would have. */
async function startWorker(handlers: Record<string, JobHandler>): Promise<void> {
  const own = openDatabase({ url: test.url, poolSize: 5, logger });
  cleanups.push(() => own.close());
  const worker = new JobWorker({ database: own, clock: systemClock, logger, handlers, concurrency: 8 });
  cleanups.push(() => worker.stop());
  await worker.start();
}

describe("several workers", () => {
  it("share 1,000 jobs and run each exactly once", async () => {
    const runs = new Map<string, string[]>();
    for (const name of ["left", "right"]) {
      await startWorker({
        shared: async ({ job }) => {
          runs.set(job.id, [...(runs.get(job.id) ?? []), name]);
        },
      });
    }
    const ids = await database.transaction(async (tx) => {
      const all: string[] = [];
      for (let n = 0; n < 1_000; n += 1) all.push((await enqueue(tx, { kind: "shared" })).id);
      return all;
    });
    await expect
      .poll(
        async () => {
          const { rows } = await raw<{ count: number }>`select count(*)::int as count from jobs
            where kind = 'shared' and status = 'succeeded' and attempts = 1`.execute(database.sql);
          return rows[0]?.count;
        },
        { timeout: 20_000 },
      )
      .toBe(1_000);
    expect(ids.filter((id) => runs.get(id)?.length !== 1)).toEqual([]);
    expect(new Set([...runs.values()].flat())).toEqual(new Set(["left", "right"]));
  });

  it("lose nothing when a process is killed", { timeout: 60_000 }, async () => {
    const kind = "orphaned";
    const ids: string[] = [];
    for (let n = 0; n < 12; n += 1) ids.push((await enqueue(database.sql, { kind })).id);
    const script = fileURLToPath(new URL("./job-worker.child.ts", import.meta.url));
    const child = spawn(process.execPath, [script, test.url, kind], { stdio: ["ignore", "pipe", "inherit"] });
    cleanups.push(async () => child.kill("SIGKILL"));
    const begun: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      begun.push(line);
      if (begun.length === 5) child.kill("SIGKILL");
    }
    expect(begun).toHaveLength(5);

    await startWorker({ [kind]: async () => {} });
    for (const id of ids) {
      await expect
        .poll(() => getJob(database.sql, id), { timeout: 20_000 })
        .toMatchObject({ status: "succeeded", attempts: begun.includes(id) ? 2 : 1 });
    }
  });
});
