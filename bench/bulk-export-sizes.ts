import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { defaultExportFields } from "../src/bulk-export/exports/export-fields.ts";
import { openDatabase } from "../src/platform/db/connection/open-database.ts";
import type { Database } from "../src/platform/db/database.ts";
import { startEmbeddedPostgres } from "../src/platform/db/embedded/embedded-postgres.ts";
import { raw } from "../src/platform/db/raw.ts";
import { migrate } from "../src/platform/db/schema/migrate.ts";
import { createLogger } from "../src/platform/logger.ts";
import { type CephRgw, startCephRgw } from "../tests/support/components/ceph-rgw.ts";
import { createBucket } from "../tests/support/exported-files.ts";
import { fillRuns, firstDay } from "./bulk-export-fill.ts";
import type { PlatformInput, PlatformMeasured } from "./bulk-export-platform.ts";
import { type CpuTimes, cpuBetween, watchCpu } from "./bulk-export-processes.ts";
import { type BenchClickHouse, openClickHouseOfBench } from "./clickhouse-runs.ts";
import { costOf } from "./process-cost.ts";

/**
 * Does an export of a million runs cost a hundred times one of ten thousand, and whose CPU is it? Everything is as in
 * life: the whole platform in one process, the export asked for over its API, two runs at once, Ceph RGW as storage.
 * With `--clickhouse` all runs are moved to a ClickHouse afterwards, which writes the same files by itself.
 * `npm run bench -- bulk-export-sizes [--rows 10000,100000,1000000] [--clickhouse]`
 */
const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "10000,100000,1000000" },
    clickhouse: { type: "boolean", default: false },
  },
});
const sizes = values.rows.split(",").map(Number);
const payloadBytes = 1_030;
const bucket = "bench";
const logger = createLogger({ level: "warn" });
const run = promisify(execFile);
const platformFile = fileURLToPath(new URL("./bulk-export-platform.ts", import.meta.url));
const window = { start_time: `${firstDay}T00:00:00Z`, end_time: "2026-06-05T00:00:00Z" };

const projectOf = (index: number) => `bbbbbbbb-0000-4000-8000-00000000000${index + 1}`;
/** The rows are as large in both engines, as a reader sees them. */
const rowSizes = new Map<number, number>();

const folder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
await chmod(folder, 0o711);
const platformFolder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
const settings = {
  fsync: "off",
  synchronous_commit: "off",
  shared_buffers: "512MB",
  max_wal_size: "8GB",
};
const server = await startEmbeddedPostgres({ dataDir: folder, logger, settings });
await migrate({
  url: server.url,
  directory: fileURLToPath(new URL("../migrations", import.meta.url)),
  logger,
});
const database = openDatabase({ url: server.url, poolSize: 4, logger });
const rgw = await startCephRgw();
try {
  await createBucket(rgw, bucket);
  for (const [index, rows] of sizes.entries()) await fillSize(index, rows);
  for (const [index, rows] of sizes.entries()) await measureSize(index, rows);
  if (values.clickhouse) await measureClickHouse();
} finally {
  await rgw.stop();
  await database.close();
  await server.stop();
  for (const one of [folder, platformFolder]) await rm(one, { recursive: true, force: true });
}

async function fillSize(index: number, rows: number): Promise<void> {
  const startedMs = performance.now();
  await fillRuns(database, { projectId: projectOf(index), rows, payloadBytes, days: 4 });
  console.log(`${count(rows)} rows filled in ${Math.round((performance.now() - startedMs) / 1000)} s`);
}

async function measureSize(index: number, rows: number, engine?: BenchClickHouse): Promise<void> {
  const projectId = projectOf(index);
  const rowBytes = rowSizes.get(index) ?? (await averageRow(database, projectId));
  rowSizes.set(index, rowBytes);
  console.log(
    `\n${engine ? "ClickHouse" : "PostgreSQL"}, ${count(rows)} rows of ${rowBytes} bytes over 4 days; ${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}`,
  );
  const slim = defaultExportFields.filter((field) => field !== "inputs" && field !== "outputs");
  await report("all columns", { rowBytes, projectId, exportFields: null, engine });
  await report("without inputs and outputs", {
    ...{ rowBytes: rowBytes - 2 * payloadBytes, projectId, exportFields: slim, engine },
  });
}

async function measureClickHouse(): Promise<void> {
  const engine = await openClickHouseOfBench(database);
  try {
    await engine.takeRuns();
    for (const [index, rows] of sizes.entries()) await measureSize(index, rows, engine);
  } finally {
    await engine.close();
  }
}

type Reported = {
  rowBytes: number;
  projectId: string;
  exportFields: string[] | null;
  engine: BenchClickHouse | undefined;
};

async function report(name: string, { rowBytes, projectId, exportFields, engine }: Reported): Promise<void> {
  const input: PlatformInput = {
    dataDir: platformFolder,
    databaseUrl: server.url,
    tracesUrl: engine?.url,
    projectId,
    destination: destinationOf(rgw),
    exportFields,
    window,
  };
  const engineMs = () => (engine?.pid === undefined ? 0 : costOf([engine.pid]).cpuMs);
  const readCpu = await watchCpu(database);
  const before = readCpu();
  const engineBefore = engineMs();
  const { stdout } = await run(process.execPath, [platformFile, JSON.stringify(input)], { maxBuffer: 1e8 });
  const others = { ...cpuBetween(before, readCpu()), engine: (engineMs() - engineBefore) / 1000 };
  const lines = stdout.trim().split("\n");
  console.log(describe(name, rowBytes, JSON.parse(lines.at(-1)!) as PlatformMeasured, others));
}

function describe(
  name: string,
  rowBytes: number,
  measured: PlatformMeasured,
  others: CpuTimes & { engine: number },
): string {
  const rate = measured.rows / measured.seconds;
  const perMillion = (seconds: number) => ((seconds * 1e6) / measured.rows).toFixed(1);
  const { cpuSeconds, bytes, files, peakMb } = measured;
  return [
    name.padEnd(28),
    `${count(Math.round(rate))} rows/s`.padStart(15),
    `${Math.round((rate * rowBytes) / 1e6)} MB/s raw`.padStart(14),
    `CPU s per million rows: Treadle ${perMillion(cpuSeconds)}, PostgreSQL ${perMillion(others.database)}, ClickHouse ${perMillion(others.engine)}, Ceph ${perMillion(others.storage)}`,
    `peak ${Math.round(peakMb)} MB`,
    `${(bytes / 1e6).toFixed(0)} MB in ${files} files`,
    `${measured.seconds.toFixed(1)} s`,
  ].join("  ");
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** As a binary COPY would send it, near enough: its texts and what its other fields take. */
async function averageRow(of: Database, projectId: string): Promise<number> {
  const { rows } = await raw<{ bytes: number }>`select avg(pg_column_size(r.*))::int as bytes
    from (select * from trace_runs where project_id = ${projectId} limit 1000) r`.execute(of.sql);
  return rows[0]!.bytes;
}

function destinationOf(storage: CephRgw): Record<string, unknown> {
  return {
    display_name: "bench",
    config: { bucket_name: bucket, endpoint_url: storage.endpoint },
    credentials: { access_key_id: storage.accessKey, secret_access_key: storage.secretKey },
  };
}
