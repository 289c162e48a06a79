import { spawn } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import type { PartitionFile, PartitionTask } from "../src/bulk-export/partitions/partition-task.ts";
import { PartitionThreads } from "../src/bulk-export/partitions/partition-threads.ts";
import { streamPartition, writePartition } from "../src/bulk-export/partitions/partition-writer.ts";
import type { BucketSink } from "../src/platform/blob/blob-store.ts";
import { readRowsBy } from "../src/platform/db/copy/row-reader.ts";

/** One way of getting rows out, in a process of its own so that its memory is its own. */
export type MeasureInput = {
  way: "copy" | "parquet" | "storage" | "threads" | "duckdb-csv" | "duckdb-own";
  tasks: PartitionTask[];
  /** Of DuckDB: columns of the CSV form, and files to load. */
  csvColumns?: Record<string, string>;
  files?: string;
  memoryLimit?: string;
};

export type Measured = { rows: number; seconds: number; cpuSeconds: number; peakMb: number; bytes: number };

const never = new AbortController().signal;

async function measure(input: MeasureInput): Promise<{ rows: number; bytes: number; seconds?: number }> {
  const [task] = input.tasks;
  if (!task) throw new Error("nothing to measure");
  const written: PartitionFile[] = [];
  const events = { intent: async () => {}, written: async (file: PartitionFile) => void written.push(file) };
  const bytes = () => written.reduce((sum, file) => sum + file.bytes, 0);
  switch (input.way) {
    case "copy": {
      let size = 0;
      const onRow = (_source: Buffer, start: number, end: number) => {
        size += end - start;
      };
      const rows = await readRowsBy(task.reader, { signal: never, onRow });
      return { rows, bytes: size };
    }
    case "parquet": {
      const { rows } = await streamPartition(task, events, nowhere(), never, new AbortController());
      return { rows, bytes: bytes() };
    }
    case "storage": {
      const { rows } = await writePartition(task, events, never);
      return { rows, bytes: bytes() };
    }
    case "threads": {
      const threads = new PartitionThreads();
      const done = await Promise.all(input.tasks.map((one) => threads.write(one, events, never)));
      await threads.stop();
      return { rows: done.reduce((sum, one) => sum + one.rows, 0), bytes: bytes() };
    }
    case "duckdb-csv":
      return csvThroughDuckDb(input, task);
    case "duckdb-own":
      return duckDbAlone(input);
  }
}

/** Takes everything and keeps nothing. */
function nowhere(): BucketSink {
  const sizes = new Map<string, number>();
  const add = (key: string, size: number) => sizes.set(key, (sizes.get(key) ?? 0) + size);
  return {
    put: async (key, body) => void sizes.set(key, body.length),
    abortUploads: async () => 0,
    beginUpload: async (key) => ({
      addPart: async (body) => void add(key, body.length),
      complete: async () => {},
      abort: async () => {},
    }),
    head: async (key) => ({ bytes: sizes.get(key) ?? 0, metadata: {} }),
    remove: async () => {},
    close: () => {},
  };
}

/** The rejected way: the database's CSV through a named pipe into DuckDB's reader. */
async function csvThroughDuckDb(input: MeasureInput, task: PartitionTask) {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
  const pipe = join(folder, "rows.csv");
  const out = join(folder, "out.parquet");
  await new Promise<void>((resolve, reject) => {
    spawn("mkfifo", [pipe]).on("exit", (code) => (code === 0 ? resolve() : reject(new Error("no pipe"))));
  });
  const instance = await DuckDBInstance.create(":memory:", { memory_limit: input.memoryLimit ?? "1GB" });
  const connection = await instance.connect();
  await connection.run("set preserve_insertion_order = false");
  const columns = JSON.stringify(input.csvColumns).replaceAll('"', "'");
  const given = task.reader.given as { url: string; select: string };
  const url = new URL(given.url);
  const copy = `\\copy (${given.select.replace(/\s+/g, " ")}) to '${pipe}' (format csv)`;
  const client = spawn("psql", [url.href, "-qc", copy], { stdio: "inherit" });
  const done = new Promise<void>((resolve) => client.on("exit", () => resolve()));
  await connection.run(`copy (select * from read_csv('${pipe}', columns = ${columns}, header = false, auto_detect = false,
    delim = ',', quote = '"', escape = '"', nullstr = '', max_line_size = 4000000, parallel = false))
    to '${out}' (format parquet, compression zstd, row_group_size_bytes '64MB')`);
  await done;
  const [row] = (
    await connection.runAndReadAll(`select count(*)::int as n from '${out}'`)
  ).getRowObjectsJson();
  const { size } = await stat(out);
  await rm(folder, { recursive: true });
  return { rows: Number(row!.n), bytes: size };
}

/** DuckDB's own COPY of the same rows from its own table: what a Parquet writer can do here at best. */
async function duckDbAlone(input: MeasureInput) {
  const folder = await mkdtemp(join(tmpdir(), "treadle-bench-"));
  const out = join(folder, "out.parquet");
  const instance = await DuckDBInstance.create(join(folder, "rows.duckdb"), {
    memory_limit: input.memoryLimit ?? "2GB",
  });
  const connection = await instance.connect();
  await connection.run("set preserve_insertion_order = false");
  await connection.run(
    `create table runs as select * from read_parquet('${input.files}', hive_partitioning = false)`,
  );
  await connection.run("checkpoint");
  const startedMs = performance.now();
  await connection.run(
    `copy runs to '${out}' (format parquet, compression zstd, row_group_size_bytes '64MB')`,
  );
  const seconds = (performance.now() - startedMs) / 1000;
  const [row] = (await connection.runAndReadAll("select count(*)::int as n from runs")).getRowObjectsJson();
  const { size } = await stat(out);
  await rm(folder, { recursive: true });
  return { rows: Number(row!.n), bytes: size, seconds };
}

const given = process.argv[2];
if (given?.startsWith("{")) {
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  const result = await measure(JSON.parse(given) as MeasureInput);
  const used = process.cpuUsage(cpu);
  const measured: Measured = {
    rows: result.rows,
    bytes: result.bytes,
    seconds: result.seconds ?? (performance.now() - startedMs) / 1000,
    cpuSeconds: (used.user + used.system) / 1e6,
    peakMb: process.resourceUsage().maxRSS / 1024,
  };
  process.stdout.write(`${JSON.stringify(measured)}\n`, () => process.exit(0));
}
