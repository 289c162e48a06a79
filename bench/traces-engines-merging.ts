import type { Bench } from "./traces-engines.ts";
import { type BenchRun, makeRuns } from "./traces-engines-data.ts";

const batchRows = 2_000;

const columns = (nullable: (type: string) => string) => `
  workspace_id UUID, project_id UUID, start_time DateTime64(6, 'UTC') codec(Delta, ZSTD(1)), id UUID,
  trace_id ${nullable("UUID")}, name ${nullable("String")}, run_type ${nullable("String")}, status ${nullable("String")},
  end_time ${nullable("DateTime64(6, 'UTC')")}, dotted_order ${nullable("String")} codec(ZSTD(1)),
  metadata ${nullable("String")} codec(ZSTD(1)), total_tokens ${nullable("UInt64")}, total_cost ${nullable("Decimal(38, 12)")},
  inputs Nullable(String) codec(ZSTD(1)), outputs Nullable(String) codec(ZSTD(1)), version UInt64`;
const order = `partition by toYYYYMM(start_time) order by (workspace_id, project_id, start_time, id)
  settings allow_nullable_key = 0`;

const keyOf = ({ workspace_id, project_id, start_time, id }: BenchRun) => ({
  workspace_id,
  project_id,
  start_time,
  id,
});
const post = (run: BenchRun) => ({
  ...keyOf(run),
  ...{ trace_id: run.trace_id, name: run.name, run_type: run.run_type, status: "pending" },
  ...{
    dotted_order: run.dotted_order,
    metadata: JSON.stringify(run.metadata),
    inputs: run.inputs,
    version: 1,
  },
});
const patch = (run: BenchRun) => ({
  ...keyOf(run),
  ...{ status: run.status, end_time: run.end_time, total_tokens: run.total_tokens },
  ...{ total_cost: run.total_cost, outputs: run.outputs, version: 2 },
});
const narrow =
  "trace_id, name, run_type, status, end_time, dotted_order, metadata, total_tokens, total_cost, version";

export type Variant = {
  name: string;
  engine: string;
  columns: string;
  /** What is written for patches, given the table. */
  patchRows(bench: Bench, table: string, runs: BenchRun[]): Promise<object[]>;
};

async function stored(bench: Bench, table: string, runs: BenchRun[], selected: string) {
  const rows = await bench.rows<Record<string, unknown> & { id: string }>(
    `select id, ${selected} from ${table} final where workspace_id = {w: UUID} and project_id in {p: Array(UUID)}
      and start_time >= {from: DateTime64(6, 'UTC')} and start_time <= {to: DateTime64(6, 'UTC')} and id in {ids: Array(UUID)}`,
    {
      w: runs[0]!.workspace_id,
      p: [...new Set(runs.map((run) => run.project_id))],
      from: runs[0]!.start_time,
      to: runs.at(-1)!.start_time,
      ids: runs.map((run) => run.id),
    },
  );
  if (rows.length !== runs.length) throw new Error(`${rows.length} of ${runs.length} runs were found.`);
  return new Map(rows.map((row) => [row.id, row]));
}

export const variants: Variant[] = [
  {
    name: "coalescing, nothing read",
    engine: "CoalescingMergeTree",
    columns: columns((type) => `Nullable(${type})`),
    patchRows: async (_bench, _table, runs) => runs.map(patch),
  },
  {
    name: "coalescing, narrow columns read",
    engine: "CoalescingMergeTree",
    columns: columns((type) => type),
    async patchRows(bench, table, runs) {
      const known = await stored(bench, table, runs, narrow);
      return runs.map((run) => ({ ...known.get(run.id), ...patch(run) }));
    },
  },
  {
    name: "replacing, whole rows read",
    engine: "ReplacingMergeTree(version)",
    columns: columns((type) => type),
    async patchRows(bench, table, runs) {
      const known = await stored(bench, table, runs, `${narrow}, inputs, outputs`);
      return runs.map((run) => ({ ...known.get(run.id), ...patch(run) }));
    },
  },
];

/** Posts, and patches of the runs posted five batches before, in one lane; then what readers ask. */
export async function measureMerging(
  bench: Bench,
  variant: Variant,
  count: number,
): Promise<Record<string, number>> {
  const table = await bench.createTable(`(${variant.columns}) engine = ${variant.engine} ${order}`);
  const waiting: BenchRun[][] = [];
  let writtenMs = 0;
  const timed = async (work: () => Promise<unknown>) => {
    const begun = performance.now();
    await work();
    writtenMs += performance.now() - begun;
  };
  const patchOldest = async () => {
    const runs = waiting.shift()!;
    await timed(async () => bench.insert(table, await variant.patchRows(bench, table, runs)));
  };
  for (let at = 0; at < count; at += batchRows) {
    const runs = makeRuns(batchRows, at);
    await timed(() => bench.insert(table, runs.map(post)));
    waiting.push(runs);
    if (waiting.length > 5) await patchOldest();
  }
  while (waiting.length > 0) await patchOldest();
  const unmerged = await bench.bytesOf(table);
  const reads = await bench.readTimes(table, "final");
  const begun = performance.now();
  await bench.run(`optimize table ${table} final`);
  const optimizeMs = performance.now() - begun;
  const merged = await bench.bytesOf(table);
  const later = await bench.readTimes(table, "final");
  await bench.run(`drop table ${table} sync`);
  return {
    "runs/s": count / (writtenMs / 1_000),
    "bytes/run, as written": unmerged / count,
    "bytes/run, merged": merged / count,
    "merge all, ms": optimizeMs,
    "page, ms": reads.page,
    "page merged, ms": later.page,
    "hours of a week, ms": reads.hours,
    "hours of a week merged, ms": later.hours,
  };
}
