import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../src/platform/clock.ts";
import { openDatabase } from "../src/platform/db/connection/open-database.ts";
import type { Database } from "../src/platform/db/database.ts";
import { startEmbeddedPostgres } from "../src/platform/db/embedded/embedded-postgres.ts";
import { migrate } from "../src/platform/db/schema/migrate.ts";
import { newId } from "../src/platform/ids.ts";
import { enqueue } from "../src/platform/jobs/job-queue.ts";
import { type JobHandler, JobWorker } from "../src/platform/jobs/job-worker.ts";
import { createLogger } from "../src/platform/logger.ts";

export type QueueResult = { question: string; value: string };

const runMs = 5_000;
const concurrency = 16;
const logger = createLogger({ level: "warn" });

/** How many jobs a second does one process run and queue, and how soon after the commit does a job start? */
export async function run(options: { url: string }): Promise<QueueResult[]> {
  const database = openDatabase({ url: options.url, poolSize: 20, logger });
  try {
    return [
      { question: "empty jobs run per second, one worker", value: await measureThroughput(database, 1) },
      { question: "empty jobs run per second, two workers", value: await measureThroughput(database, 2) },
      { question: "jobs queued per second, 8 callers, no worker", value: await measureEnqueue(database) },
      { question: "enqueue call to handler start, idle queue", value: await measureLatency(database) },
    ];
  } finally {
    await database.close();
  }
}

export function formatTable(results: QueueResult[]): string {
  const width = Math.max(...results.map((result) => result.question.length));
  return results.map((result) => `${result.question.padEnd(width)}  ${result.value}`).join("\n");
}

async function measureThroughput(database: Database, workers: number): Promise<string> {
  const kind = `throughput-${newId()}`;
  let done = 0;
  const handler: JobHandler = async () => {
    done += 1;
  };
  // More than can be run in the time, so that the queue is never empty.
  await database.query(
    {
      name: "bench_fill_v1",
      text: `insert into jobs (id, kind, payload, max_attempts)
        select gen_random_uuid(), $1, '{}', 1 from generate_series(1, $2::int)`,
    },
    [kind, workers * 4_000 * (runMs / 1_000)],
  );
  await database.query({ name: "bench_analyze_v1", text: "analyze jobs" }, []);
  const all = Array.from(
    { length: workers },
    () => new JobWorker({ database, clock: systemClock, logger, handlers: { [kind]: handler }, concurrency }),
  );
  const startMs = performance.now();
  await Promise.all(all.map((worker) => worker.start()));
  await new Promise((resolve) => setTimeout(resolve, runMs));
  const perSecond = done / ((performance.now() - startMs) / 1_000);
  await Promise.all(all.map((worker) => worker.stop({ graceMs: 5_000 })));
  const left = await database.query<{ count: number }>(
    {
      name: "bench_left_v1",
      text: "select count(*)::int as count from jobs where kind = $1 and status = 'pending'",
    },
    [kind],
  );
  await clear(database);
  const exhausted = left[0]?.count === 0 ? " (the queue ran empty: a lower bound)" : "";
  return `${Math.round(perSecond)}/s${exhausted}`;
}

async function measureEnqueue(database: Database): Promise<string> {
  const kind = `enqueue-${newId()}`;
  const startMs = performance.now();
  let count = 0;
  const call = async () => {
    while (performance.now() - startMs < runMs) {
      await enqueue(database.sql, { kind });
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, call));
  const perSecond = count / ((performance.now() - startMs) / 1_000);
  await clear(database);
  return `${Math.round(perSecond)}/s`;
}

/** Measured from before the call, so the commit is part of it. */
async function measureLatency(database: Database): Promise<string> {
  const kind = `latency-${newId()}`;
  let begun = Promise.withResolvers<number>();
  const worker = new JobWorker({
    database,
    clock: systemClock,
    logger,
    concurrency,
    handlers: {
      [kind]: async () => {
        begun.resolve(performance.now());
      },
    },
  });
  await worker.start();
  const waits: number[] = [];
  const startMs = performance.now();
  while (performance.now() - startMs < runMs) {
    begun = Promise.withResolvers();
    const calledMs = performance.now();
    await enqueue(database.sql, { kind });
    waits.push((await begun.promise) - calledMs);
  }
  await worker.stop({ graceMs: 5_000 });
  await clear(database);
  waits.sort((a, b) => a - b);
  const at = (share: number) => waits[Math.floor((waits.length - 1) * share)]?.toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (${waits.length} jobs)`;
}

async function clear(database: Database): Promise<void> {
  await database.query({ name: "bench_clear_v1", text: "truncate jobs" }, []);
}

/** Its own server with its default settings, so that commits cost what they cost. */
async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
  await chmod(folder, 0o711);
  const server = await startEmbeddedPostgres({ dataDir: folder, logger });
  try {
    const directory = fileURLToPath(new URL("../migrations", import.meta.url));
    await migrate({ url: server.url, directory, logger });
    console.log(formatTable(await run({ url: server.url })));
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) await main();
