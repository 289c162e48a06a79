import { readFileSync } from "node:fs";
import { join } from "node:path";
import { descendantsOf } from "../tests/support/components/process-table.ts";
import { createDataParent, type RunningTreadle, startTreadle } from "../tests/support/treadle.ts";
import { formatTable, makeEchoRuns, median } from "./load.ts";
import { costOf } from "./process-cost.ts";

/**
 * What worker processes give and cost: echo runs of `treadle up` as one process, with one worker process and with two,
 * in turn. All share the machine, so the processor time of each part per run counts.
 * `npm run bench -- workers [RUNS] [ROUNDS]`.
 */
const runs = Number(process.argv[2] ?? 1_500);
const rounds = Number(process.argv[3] ?? 3);
const warmRuns = 1_500;
const atOnce = 32;
const counts = [0, 1, 2];

type Figures = { perSecond: number; serverMs: number; workersMs: number; postgresMs: number };
type Parts = { server: number[]; workers: number[]; postgres: number[] };

const parent = await createDataParent("bench-workers");
const servers: RunningTreadle[] = [];
const figures = counts.map(() => [] as Figures[]);
try {
  for (const count of counts) {
    const server = await startTreadle(["--data-dir", join(parent.path, String(count))], {
      env: { TREADLE_WORKERS: String(count), TREADLE_TRACING: "0" },
    });
    servers.push(server);
    await makeRuns(server, warmRuns * Math.max(1, count));
  }
  for (let round = 0; round < rounds; round += 1) {
    // In turn, and the other way round the next time: what changes on the machine meets all.
    for (const count of round % 2 === 0 ? counts : counts.toReversed())
      figures[count]!.push(await measure(servers[count]!));
  }
  const rows = counts.map((count) => {
    const own = figures[count]!;
    const middle = (pick: (each: Figures) => number) => median(own.map(pick));
    const memory = costOf(partsOf(servers[count]!).workers).memoryMb / Math.max(1, count);
    return {
      "worker processes": count,
      "runs/s": middle(({ perSecond }) => perSecond),
      "server, ms a run": middle(({ serverMs }) => serverMs),
      "worker processes, ms a run": middle(({ workersMs }) => workersMs),
      "PostgreSQL, ms a run": middle(({ postgresMs }) => postgresMs),
      "memory of each, MB": memory,
    };
  });
  console.log(formatTable(rows));
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  await parent.remove();
}

async function measure(server: RunningTreadle): Promise<Figures> {
  const parts = partsOf(server);
  const cpuOf = () => ({
    server: costOf(parts.server).cpuMs,
    workers: costOf(parts.workers).cpuMs,
    postgres: costOf(parts.postgres).cpuMs,
  });
  // Connections that were closed meanwhile are opened before the processes are listed.
  await makeRuns(server, 100);
  Object.assign(parts, partsOf(server));
  const before = cpuOf();
  const begun = performance.now();
  await makeRuns(server, runs);
  const seconds = (performance.now() - begun) / 1000;
  const after = cpuOf();
  return {
    perSecond: runs / seconds,
    serverMs: (after.server - before.server) / runs,
    workersMs: (after.workers - before.workers) / runs,
    postgresMs: (after.postgres - before.postgres) / runs,
  };
}

function partsOf({ pid }: RunningTreadle): Parts {
  const below = descendantsOf(pid);
  const isWorker = (each: number) => commandOf(each).endsWith("worker\0");
  const isPostgres = (each: number) => /postgres/.test(commandOf(each));
  return { server: [pid], workers: below.filter(isWorker), postgres: below.filter(isPostgres) };
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    // It has ended since the list was made.
    return "";
  }
}

function makeRuns({ ready }: RunningTreadle, total: number): Promise<void> {
  return makeEchoRuns(ready.port, { total, atOnce });
}
