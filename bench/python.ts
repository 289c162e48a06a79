import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "../src/platform/db/embedded/embedded-postgres.ts";
import { createLogger } from "../src/platform/logger.ts";
import { compareSubjects } from "./agent-figures.ts";
import { aegra, inMemory, oursWith } from "./python-subjects.ts";

/**
 * How fast are Python graphs, beside the servers that are written in Python? Needs python3 and a package index.
 *   node bench/python.ts            ours with one and two processes, `langgraph dev` and Aegra; then in reverse; medians
 *   node bench/python.ts --ours     ours alone
 * BENCH_SECONDS is the time per point.
 */
const seconds = Number(process.env.BENCH_SECONDS ?? 4);
const treadles = [oursWith(1), oursWith(2)];

if (process.argv.includes("--ours")) await compareSubjects([...treadles, ...treadles.toReversed()], seconds);
else await compareAll();

async function compareAll(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
  await chmod(folder, 0o711);
  const logger = createLogger({ level: "warn" });
  const postgres = await startEmbeddedPostgres({ dataDir: folder, logger });
  try {
    const subjects = [...treadles, inMemory(), aegra(postgres.url)];
    await compareSubjects([...subjects, ...subjects.toReversed()], seconds);
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
