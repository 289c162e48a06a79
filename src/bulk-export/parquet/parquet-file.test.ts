import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { DuckDBInstance } from "@duckdb/node-api";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { binaryRow, type FieldValue } from "../../../tests/support/binary-rows.ts";
import { BlockMemory } from "./block-memory.ts";
import type { ColumnSpec } from "./column.ts";
import { type Compression, pageCodec } from "./page-codec.ts";
import { PageMemory } from "./page-memory.ts";
import { ParquetFile } from "./parquet-file.ts";
import { RowGroupBuffer } from "./row-group.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-parquet-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Small blocks, so that pages lie in several of them and some in none. */
const memoryOf = (pageBytes: number) => ({
  pages: new PageMemory(pageBytes),
  bodies: new BlockMemory(16_384, 4),
});

type Written = { bytes: Buffer; path: string };
let files = 0;

async function write(
  specs: ColumnSpec[],
  rows: FieldValue[][],
  options: { compression?: Compression; pageBytes?: number; groupRows?: number } = {},
): Promise<Written> {
  const codec = pageCodec(options.compression ?? "zstandard");
  const fields = specs.filter((spec) => spec.constant === undefined);
  const pageBytes = options.pageBytes ?? 1_048_576;
  const names = fields.map((spec) => spec.name);
  const buffer = new RowGroupBuffer(specs, names, {
    pageBytes,
    compress: codec.compress,
    memory: memoryOf(pageBytes),
  });
  const parts: Buffer[] = [];
  const sink = { write: async (bytes: Buffer) => void parts.push(Buffer.from(bytes)) };
  const file = new ParquetFile({ specs, codecId: codec.id, sink, metadata: { made: "here" } });
  const kinds = fields.map((spec) => spec.kind);
  for (const row of rows) {
    const bytes = binaryRow(kinds, row);
    buffer.append(bytes, 0, bytes.length);
    if (buffer.rows === (options.groupRows ?? Number.POSITIVE_INFINITY)) await file.writeGroup(buffer.cut());
  }
  if (buffer.rows > 0) await file.writeGroup(buffer.cut());
  await file.finish();
  const bytes = Buffer.concat(parts);
  expect(file.bytes).toBe(bytes.length);
  const path = join(folder, `${++files}.parquet`);
  await writeFile(path, bytes);
  return { bytes, path };
}

const bufferOf = ({ bytes }: Written) =>
  bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;

async function duck(sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  await connection.run("set TimeZone = 'UTC'");
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson() as Record<string, unknown>[];
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** The same rows every time. */
function numberFrom(seed: string): number {
  return createHash("sha256").update(seed).digest().readUInt32BE(0);
}

const specs: ColumnSpec[] = [
  { name: "text", kind: "text" },
  { name: "few", kind: "text", dictionary: true },
  { name: "many", kind: "text", dictionary: true },
  { name: "uuid", kind: "uuid" },
  { name: "whole", kind: "int64" },
  { name: "real", kind: "double" },
  { name: "time", kind: "timestamp" },
  { name: "yes", kind: "bool" },
  { name: "words", kind: "text_list" },
  { name: "ids", kind: "uuid_list" },
  { name: "fixed", kind: "text", constant: "ü" },
];

const uuidOf = (seed: string) =>
  createHash("md5")
    .update(seed)
    .digest("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");

function sampleRow(index: number): FieldValue[] {
  const pick = (name: string, most: number) => numberFrom(`${name} ${index}`) % most;
  const orNull = (name: string, value: FieldValue) => (pick(`null ${name}`, 5) === 0 ? null : value);
  return [
    orNull("text", "äö🧵\n".repeat(pick("text", 40))),
    orNull("few", `kind ${pick("few", 7)}`),
    orNull("many", `name ${pick("many", 100_000)}`),
    orNull("uuid", uuidOf(`uuid ${index}`)),
    orNull("whole", BigInt(pick("whole", 2 ** 32)) * (index % 2 === 0 ? 2_147_483_648n : -2_147_483_648n)),
    orNull("real", pick("real", 1_000_000) / 7 - 50_000),
    orNull("time", BigInt(pick("time", 2 ** 32)) * 1_000_001n - 1_000_000_000_000_000n),
    orNull("yes", pick("yes", 2) === 1),
    orNull(
      "words",
      Array.from({ length: pick("words", 4) }, (_, n) => (pick(`w${n}`, 6) === 0 ? null : `w${n}`)),
    ),
    orNull(
      "ids",
      Array.from({ length: pick("ids", 3) }, (_, n) => uuidOf(`id ${index} ${n}`)),
    ),
  ];
}

const microsText = (micros: bigint) => {
  const ms = micros / 1000n - (micros % 1000n < 0n ? 1n : 0n);
  return new Date(Number(ms)).toISOString().replace("Z", `${String(micros - ms * 1000n).padStart(3, "0")}Z`);
};

/** As `toEqual`, which takes seconds for so many rows and is asked about those alone that differ at first sight. */
function expectRows(found: readonly unknown[], expected: readonly unknown[]): void {
  expect(found).toHaveLength(expected.length);
  for (const [index, row] of found.entries()) {
    if (!isDeepStrictEqual(row, expected[index])) expect(row).toEqual(expected[index]);
  }
}

let rows: FieldValue[][];
beforeAll(() => {
  rows = Array.from({ length: 12_000 }, (_, index) => sampleRow(index));
});

describe.each(["zstandard", "snappy", "gzip", "none"] as const)("rows of every kind, %s", (compression) => {
  test("are read back by two readers, over many pages and row groups", async () => {
    const written = await write(specs, rows, { compression, pageBytes: 20_000, groupRows: 5_000 });
    const expected = rows.map((row) =>
      Object.fromEntries(specs.map((spec, i) => [spec.name, i < 10 ? row[i]! : "ü"])),
    );

    const byDuck = await duck(
      `select * replace (strftime(time, '%Y-%m-%dT%H:%M:%S.%fZ') as time) from '${written.path}'`,
    );
    const asJson = expected.map((row) => ({
      ...row,
      whole: row.whole === null ? null : String(row.whole),
      time: row.time === null ? null : microsText(row.time as bigint),
    }));
    expectRows(byDuck, asJson);

    const again = await parquetReadObjects({ file: bufferOf(written), compressors });
    const millis = (micros: FieldValue) =>
      micros === null ? null : new Date(Number((micros as bigint) / 1000n));
    const times = again.map((row) => (row.time instanceof Date ? Math.trunc(row.time.getTime()) : null));
    expect(times).toEqual(expected.map((row) => millis(row.time!)?.getTime() ?? null));
    // That reader has no value for a list that is null.
    const rest = ({ time: _time, ...row }: Record<string, unknown>) => ({
      ...row,
      words: row.words ?? null,
      ids: row.ids ?? null,
    });
    expectRows(again.map(rest), expected.map(rest));
  });
});

test("a column whose values turn out to differ leaves its dictionary, and pages start at rows", async () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => [`name ${index}`, ["a", null, `b ${index}`]]);
  const columns: ColumnSpec[] = [
    { name: "name", kind: "text", dictionary: true },
    { name: "list", kind: "text_list" },
  ];
  const written = await write(columns, rows, { pageBytes: 1_000 });
  const metadata = parquetMetadata(bufferOf(written));
  expect(metadata.row_groups[0]!.columns[0]!.meta_data!.dictionary_page_offset).toBeUndefined();
  const [counted] = await duck(
    `select count(distinct name) as names, sum(len(list)) as items from '${written.path}'`,
  );
  expect(counted).toEqual({ names: "10000", items: "30000" });
});

test("bounds let a reader skip row groups", async () => {
  const columns: ColumnSpec[] = [
    { name: "time", kind: "timestamp" },
    { name: "word", kind: "text", dictionary: true },
    { name: "real", kind: "double" },
  ];
  const rows = Array.from({ length: 40 }, (_, index) => [BigInt(index) * 1_000_000n, `w${index}`, -index]);
  const written = await write(columns, rows, { groupRows: 10 });
  const [group] = await duck(
    `select path_in_schema, stats_min_value, stats_max_value, stats_null_count from parquet_metadata('${written.path}')
     where row_group_id = 1 and path_in_schema = 'word'`,
  );
  expect(group).toEqual({
    path_in_schema: "word",
    stats_min_value: "w10",
    stats_max_value: "w19",
    stats_null_count: "0",
  });
  const found = await duck(
    `select word from '${written.path}' where time >= '1970-01-01 00:00:35+00' and real > -38`,
  );
  expect(found.map((row) => row.word)).toEqual(["w35", "w36", "w37"]);
});

test("odd numbers keep their value and spoil no bounds", async () => {
  const columns: ColumnSpec[] = [{ name: "real", kind: "double" }];
  const odd = [Number.NaN, Number.POSITIVE_INFINITY, -0, 5e-324, Number.MAX_VALUE];
  const written = await write(
    columns,
    odd.map((value) => [value]),
  );
  const read = await parquetReadObjects({ file: bufferOf(written), compressors });
  expect(read.map((row) => row.real)).toEqual(odd);
  expect(
    parquetMetadata(bufferOf(written)).row_groups[0]!.columns[0]!.meta_data!.statistics?.max_value,
  ).toBeUndefined();
});

test("a file without rows has its columns all the same", async () => {
  const written = await write(specs, []);
  expect(await duck(`select * from '${written.path}'`)).toEqual([]);
  const described = await duck(`select column_name from (describe select * from '${written.path}')`);
  expect(described.map((row) => row.column_name)).toEqual(specs.map((spec) => spec.name));
});

test("a row of another shape is refused", async () => {
  const buffer = new RowGroupBuffer([{ name: "a", kind: "text" }], ["a"], {
    pageBytes: 10,
    compress: (page) => page,
    memory: memoryOf(10),
  });
  const row = binaryRow(["text", "text"], ["x", "y"]);
  expect(() => buffer.append(row, 0, row.length)).toThrow("2 fields where 1");
});
