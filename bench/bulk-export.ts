import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { columnsOf, constantFields, orderedFields } from "../src/bulk-export/exports/export-fields.ts";
import { defaultFileLimits, type PartitionTask } from "../src/bulk-export/partitions/partition-task.ts";
import type { BucketSettings } from "../src/platform/blob/blob-store.ts";
import { openDatabase } from "../src/platform/db/connection/open-database.ts";
import type { Database } from "../src/platform/db/database.ts";
import { startEmbeddedPostgres } from "../src/platform/db/embedded/embedded-postgres.ts";
import { migrate } from "../src/platform/db/schema/migrate.ts";
import { createLogger } from "../src/platform/logger.ts";
import { RunExportSource } from "../src/traces/storage/postgres/export/run-export-source.ts";
import { type CephRgw, startCephRgw } from "../tests/support/components/ceph-rgw.ts";
import { createBucket, listKeys, readObject } from "../tests/support/exported-files.ts";
import { fillRuns, firstDay, workspaceId } from "./bulk-export-fill.ts";
import type { Measured, MeasureInput } from "./bulk-export-measure.ts";
import { cpuBetween, watchCpu } from "./bulk-export-processes.ts";

/**
 * How fast do traces leave as Parquet, what does it cost, and what is the wall?
 * `npm run bench -- bulk-export [--rows 1000000] [--database postgres://…]`
 */
const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "200000" },
    rounds: { type: "string", default: "3" },
    database: { type: "string" },
  },
});
const rows = Number(values.rows);
const rounds = Number(values.rounds);
const projects = {
  main: "aaaaaaaa-0000-4000-8000-000000000001",
  small: "aaaaaaaa-0000-4000-8000-000000000002",
  fat: "aaaaaaaa-0000-4000-8000-000000000003",
};
const bucket = "bench";
const logger = createLogger({ level: "warn" });
const run = promisify(execFile);
const measureFile = fileURLToPath(new URL("./bulk-export-measure.ts", import.meta.url));

async function withDatabase(work: (database: Database, url: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
  await chmod(folder, 0o711);
  const settings = { fsync: "off", synchronous_commit: "off", shared_buffers: "512MB" };
  const server = values.database ? null : await startEmbeddedPostgres({ dataDir: folder, logger, settings });
  const url = values.database ?? server!.url;
  await migrate({ url, directory: fileURLToPath(new URL("../migrations", import.meta.url)), logger });
  const database = openDatabase({ url, poolSize: 4, logger });
  try {
    await work(database, url);
  } finally {
    await database.close();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function taskFor(
  database: Database,
  url: string,
  settings: BucketSettings,
  options: { projectId: string; from: string; to: string; without?: string[]; folder: string },
): PartitionTask {
  const fields = orderedFields(null).filter((field) => !options.without?.includes(field));
  const constants: readonly string[] = constantFields;
  const selected = new RunExportSource({ database, databaseUrl: url }).selectRuns({
    workspaceId,
    projectId: options.projectId,
    from: `${options.from}T00:00:00Z`,
    to: `${options.to}T00:00:00Z`,
    after: null,
    filter: null,
    traceFilter: null,
    fields: fields.filter((field) => !constants.includes(field)),
  });
  const kinds = new Map(selected.fields.map(({ name, kind }) => [name, kind]));
  return {
    reader: selected.reader,
    fields: selected.fields.map(({ name }) => name),
    columns: columnsOf(fields, kinds, { tenant_id: workspaceId, session_id: options.projectId }),
    compression: "zstandard",
    limits: defaultFileLimits,
    bucket: settings,
    allowPrivateAddresses: true,
    silenceTimeoutMs: 60_000,
    folder: options.folder,
    firstPart: 0,
    metadata: {},
  };
}

type MeasuredAll = Measured & { databaseCpu: number; storageCpu: number };

/** The median of several rounds, by rows a second. */
async function measureRounds(database: Database, input: MeasureInput, times = rounds): Promise<MeasuredAll> {
  const all: MeasuredAll[] = [];
  const readCpu = await watchCpu(database);
  for (let round = 0; round < times; round += 1) {
    const before = readCpu();
    const { stdout } = await run(process.execPath, [measureFile, JSON.stringify(input)], { maxBuffer: 1e8 });
    const others = cpuBetween(before, readCpu());
    const measured = JSON.parse(stdout) as Measured;
    all.push({ ...measured, databaseCpu: others.database, storageCpu: others.storage });
  }
  return all.toSorted((a, b) => a.seconds - b.seconds)[Math.floor(times / 2)]!;
}

function report(name: string, measured: MeasuredAll, rawBytesPerRow: number): void {
  const rate = measured.rows / measured.seconds;
  const perMillion = (seconds: number) => ((seconds * 1e6) / measured.rows).toFixed(1);
  const cells = [
    name.padEnd(46),
    `${Math.round(rate).toLocaleString("en-US")} rows/s`.padStart(15),
    `${Math.round((rate * rawBytesPerRow) / 1e6)} MB/s raw`.padStart(14),
    `CPU s per million rows: ${perMillion(measured.cpuSeconds)}, PostgreSQL ${perMillion(measured.databaseCpu)}, Ceph ${perMillion(measured.storageCpu)}`.padEnd(
      62,
    ),
    `${Math.round(measured.peakMb)} MB`.padStart(8),
    `${(measured.bytes / 1e6).toFixed(0)} MB out`.padStart(11),
  ];
  console.log(cells.join("  "));
}

const csvTypes: Record<string, string> = {
  text: "VARCHAR",
  uuid: "VARCHAR",
  int64: "BIGINT",
  double: "DOUBLE",
  timestamp: "TIMESTAMPTZ",
  bool: "BOOLEAN",
  text_list: "VARCHAR",
  uuid_list: "VARCHAR",
};

async function measureAll(database: Database, url: string, rgw: CephRgw): Promise<void> {
  await createBucket(rgw, bucket);
  const settings: BucketSettings = {
    bucket,
    region: null,
    endpointUrl: rgw.endpoint,
    bucketInEndpoint: false,
    addressingStyle: "auto",
    accelerate: false,
    checksumMode: null,
    signBodies: false,
    credentials: { accessKeyId: rgw.accessKey, secretAccessKey: rgw.secretKey },
    putArguments: {},
  };
  const task = (options: Partial<Parameters<typeof taskFor>[3]>) =>
    taskFor(database, url, settings, {
      projectId: projects.main,
      from: firstDay,
      to: "2026-06-03",
      folder: "whole/",
      ...options,
    });
  const measure = (input: MeasureInput, times = rounds) => measureRounds(database, input, times);
  const whole = task({});
  const slim = task({ without: ["inputs", "outputs"], folder: "slim/" });
  const halves = [
    task({ to: "2026-06-02", folder: "half-1/" }),
    task({ from: "2026-06-02", folder: "half-2/" }),
  ];
  const copied = await measure({ way: "copy", tasks: [whole] });
  const perRow = copied.bytes / copied.rows;
  console.log(
    `${rows.toLocaleString("en-US")} rows of ${Math.round(perRow)} bytes, ${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}`,
  );
  report("Postgres binary COPY alone", copied, perRow);
  const parquet = await measure({ way: "parquet", tasks: [whole] });
  report("COPY to Parquet, nothing kept", parquet, perRow);
  const stored = await measure({ way: "storage", tasks: [whole] });
  report("COPY to Parquet to RGW, one run", stored, perRow);
  report("the same, two runs in two threads", await measure({ way: "threads", tasks: halves }), perRow);
  const slimCopied = await measure({ way: "copy", tasks: [slim] }, 1);
  report(
    "without inputs and outputs, to RGW",
    await measure({ way: "storage", tasks: [slim] }),
    slimCopied.bytes / slimCopied.rows,
  );

  const csvColumns = Object.fromEntries(
    whole.fields.map((name) => [name, csvTypes[whole.columns.find((column) => column.name === name)!.kind]!]),
  );
  report(
    "rejected: CSV COPY through a pipe into DuckDB",
    await measure({ way: "duckdb-csv", tasks: [whole], csvColumns }),
    perRow,
  );
  const files = await download(rgw, "whole/");
  const own = await measure({ way: "duckdb-own", tasks: [whole], files: `${files}/**/*.parquet` });
  report("DuckDB's COPY of its own table", own, perRow);
  await rm(files, { recursive: true });
  const ratio = (measured: Measured) =>
    (own.seconds / own.rows / (measured.seconds / measured.rows)).toFixed(2);
  console.log(`ratio to DuckDB's own COPY: Parquet alone ${ratio(parquet)}, to RGW ${ratio(stored)}`);

  const small = taskFor(database, url, settings, {
    projectId: projects.small,
    from: firstDay,
    to: "2026-06-03",
    folder: "small/",
  });
  report(
    "growth: a twentieth of the rows, to RGW",
    await measure({ way: "storage", tasks: [small] }),
    perRow,
  );
  const fat = taskFor(database, url, settings, {
    projectId: projects.fat,
    from: firstDay,
    to: "2026-06-03",
    folder: "fat/",
  });
  const fatMeasured = await measure({ way: "storage", tasks: [fat] }, 1);
  report("rows of 1 MB, to RGW", fatMeasured, 1_000_000);
}

async function download(rgw: CephRgw, prefix: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
  for (const key of await listKeys(rgw, bucket, prefix)) {
    await mkdir(dirname(join(folder, key)), { recursive: true });
    await writeFile(join(folder, key), await readObject(rgw, bucket, key));
  }
  return folder;
}

await withDatabase(async (database, url) => {
  const startedMs = performance.now();
  await fillRuns(database, { projectId: projects.main, rows, payloadBytes: 870, days: 2 });
  await fillRuns(database, {
    projectId: projects.small,
    rows: Math.round(rows / 20),
    payloadBytes: 870,
    days: 2,
  });
  await fillRuns(database, { projectId: projects.fat, rows: 500, payloadBytes: 500_000, days: 2 });
  console.log(`filled in ${Math.round((performance.now() - startedMs) / 1000)} s`);
  const rgw = await startCephRgw();
  try {
    await measureAll(database, url, rgw);
  } finally {
    await rgw.stop();
  }
});
