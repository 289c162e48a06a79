import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { startScratchServer } from "../tests/support/postgres.ts";
import { createDataParent, type RunningTreadle, startTreadle } from "../tests/support/treadle.ts";
import { makeEchoRuns, median } from "./load.ts";
import { costOf } from "./process-cost.ts";

/**
 * What a second worker gives: echo runs made on an api, executed on one worker and on two, in turn. The machine is
 * shared by all, so the processor time per run counts; runs per second are what is left of it.
 * `npm run bench -- scale [RUNS] [ROUNDS]`.
 */
const runs = Number(process.argv[2] ?? 2_000);
const rounds = Number(process.argv[3] ?? 3);
const warmRuns = 1_500;
const atOnce = 32;
const apiKey = "a-key-that-all-processes-share";

type Figures = { workers: number; perSecond: number; workerMs: number; apiMs: number };

const [postgres, parent] = await Promise.all([startScratchServer(), createDataParent("bench-scale")]);
const environment = {
  DATABASE_URL: postgres.url,
  TREADLE_SECRET_KEY: "a-secret-that-all-processes-share",
  TREADLE_API_KEY: apiKey,
  TREADLE_PUBLIC_URL: "http://127.0.0.1:1",
  TREADLE_INTERNAL_URL: "http://127.0.0.1:1",
  TREADLE_BLOB_URL: `file://${join(parent.path, "blobs")}`,
  TREADLE_TRACING: "0",
};
const start = (roles: string) =>
  startTreadle(["--roles", roles, "--data-dir", join(parent.path, randomUUID())], { env: environment });

const api = await start("api");
const figures: Figures[] = [];
try {
  for (let round = 0; round < rounds; round += 1) {
    // In turn, and the other way round the next time: what changes on the machine meets both.
    for (const count of round % 2 === 0 ? [1, 2] : [2, 1]) {
      const measured = await measure(count);
      console.log(describe(measured));
      figures.push(measured);
    }
  }
  for (const count of [1, 2]) {
    const own = figures.filter(({ workers }) => workers === count);
    const middle = (pick: (each: Figures) => number) => median(own.map(pick));
    console.log(
      `median, ${describe({
        workers: count,
        perSecond: middle(({ perSecond }) => perSecond),
        workerMs: middle(({ workerMs }) => workerMs),
        apiMs: middle(({ apiMs }) => apiMs),
      })}`,
    );
  }
} finally {
  await api.stop();
  await postgres.stop();
  await parent.remove();
}

async function measure(count: number): Promise<Figures> {
  const workers = await Promise.all(Array.from({ length: count }, () => start("worker")));
  try {
    // What a process compiles at first counts once for each, however few of the runs it gets.
    await makeRuns(warmRuns * count);
    const before = { workers: cpuOf(workers), api: cpuOf([api]) };
    const begun = performance.now();
    await makeRuns(runs);
    const seconds = (performance.now() - begun) / 1000;
    return {
      workers: count,
      perSecond: runs / seconds,
      workerMs: (cpuOf(workers) - before.workers) / runs,
      apiMs: (cpuOf([api]) - before.api) / runs,
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
}

function cpuOf(processes: readonly RunningTreadle[]): number {
  return costOf(processes.map(({ pid }) => pid)).cpuMs;
}

/** As many at once as the workers could take. */
function makeRuns(total: number): Promise<void> {
  return makeEchoRuns(api.ready.port, { total, atOnce, apiKey });
}

function describe({ workers, perSecond, workerMs, apiMs }: Figures): string {
  return `${workers} worker${workers === 1 ? " " : "s"}: ${perSecond.toFixed(0)} runs/s, processor time per run ${workerMs.toFixed(2)} ms (workers) + ${apiMs.toFixed(2)} ms (api)`;
}
