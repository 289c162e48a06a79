import { chmod, mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "../src/platform/db/embedded/embedded-postgres.ts";
import { createLogger } from "../src/platform/logger.ts";
import { compareSubjects } from "./agent-figures.ts";
import { measureProcessCost } from "./python-cost.ts";
import { aegra, inMemory, oursWith } from "./python-subjects.ts";
import type { Subject } from "./subjects.ts";

/**
 * How fast are Python graphs, beside the servers that are written in Python? Needs python3 and a package index, or
 * environments that are there already: BENCH_TREADLE_PYTHON, BENCH_LANGGRAPH_DEV and BENCH_AEGRA name their folders.
 *   node bench/python.ts            ours with one and two processes, `langgraph dev` and Aegra; then in reverse; medians
 *   node bench/python.ts --ours     ours alone
 * BENCH_SECONDS is the time per point, BENCH_WITHOUT=aegra,langgraph-dev leaves peers out.
 */
const seconds = Number(process.env.BENCH_SECONDS ?? 4);
const without = (process.env.BENCH_WITHOUT ?? "").split(",");

console.log(`Load of this machine before: ${loadavg()[0]!.toFixed(1)}`);
if (process.argv.includes("--ours")) await compare([]);
else await withDatabase((url) => compare(peers(url)));
console.log(`Load of this machine after: ${loadavg()[0]!.toFixed(1)}`);

async function compare(others: Subject[]): Promise<void> {
  const subjects = [oursWith(1), oursWith(2), ...others];
  await compareSubjects([...subjects, ...subjects.toReversed()], seconds);
  console.log(await measureProcessCost(oursWith(1), seconds));
}

/** One that cannot be had here is named, and left out. */
function peers(databaseUrl: string): Subject[] {
  const makers = { "langgraph-dev": inMemory, aegra: () => aegra(databaseUrl) };
  return Object.entries(makers).flatMap(([name, make]) => {
    if (without.includes(name)) {
      console.log(`Without ${name}, as BENCH_WITHOUT asks.`);
      return [];
    }
    try {
      return [make()];
    } catch (error) {
      console.log(`WITHOUT ${name}: ${String(error)}`);
      return [];
    }
  });
}

async function withDatabase(work: (url: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
  await chmod(folder, 0o711);
  const logger = createLogger({ level: "warn" });
  const postgres = await startEmbeddedPostgres({ dataDir: folder, logger });
  try {
    await work(postgres.url);
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
