import type { Bench } from "./traces-engines.ts";
import { makeRuns, rareWord, uuidOf, workspaceId } from "./traces-engines-data.ts";

const base = `workspace_id UUID, project_id UUID, start_time DateTime64(6, 'UTC') codec(Delta, ZSTD(1)), id UUID, trace_id UUID,
  name LowCardinality(String), run_type LowCardinality(String), status LowCardinality(String), end_time DateTime64(6, 'UTC'),
  dotted_order String codec(ZSTD(1)), total_tokens UInt64, total_cost Decimal(38, 12)`;
const payloads = "inputs String codec(ZSTD(1)), outputs String codec(ZSTD(1))";
const order = "partition by toYYYYMM(start_time) order by (workspace_id, project_id, start_time, id)";
const batchRows = 10_000;

type Question = { name: string; query: string; params?: Record<string, unknown> };
type IndexVariant = {
  name: string;
  columns: string;
  settings?: string;
  /** Made after the table, filled by it, and counted with it. */
  side?: (table: string) => { table: string; statements: string[] };
  questions: (table: string, side: string | undefined) => Question[];
};

/** Of one flush: they began at about the same time. */
const ids = Array.from({ length: 500 }, (_, n) => uuidOf(`run ${9_000 + n}`));
const someRun = uuidOf("run 7777");
const someTrace = uuidOf("run 7775");

const pointQuestions = (table: string): Question[] => [
  {
    name: "one by id",
    query: `select id, name, inputs from ${table} where workspace_id = {w: UUID} and id = {id: UUID}`,
  },
  {
    name: "trace",
    query: `select id, name, inputs from ${table} where workspace_id = {w: UUID} and trace_id = {trace: UUID}`,
  },
  {
    name: "500 by id",
    query: `select id, name from ${table} where workspace_id = {w: UUID} and id in {ids: Array(UUID)}`,
  },
];
/** The key of the runs first, from the narrow table, then the runs by their key. */
const throughSide = (table: string, side: string): Question[] =>
  [
    ["one by id", "id = {id: UUID}", "id, name, inputs"],
    ["trace", "trace_id = {trace: UUID}", "id, name, inputs"],
    ["500 by id", "id in {ids: Array(UUID)}", "id, name"],
  ].map(([name, condition, columns]) => ({
    name: name!,
    query: `select ${columns} from ${table} where (workspace_id, project_id, start_time, id) in
      (select workspace_id, project_id, start_time, id from ${side} where workspace_id = {w: UUID} and ${condition})`,
  }));

const sideTable = (table: string) => ({
  table: `${table}_ids`,
  statements: [
    `create table ${table}_ids (workspace_id UUID, id UUID, trace_id UUID, project_id UUID, start_time DateTime64(6, 'UTC'),
      projection by_trace (select * order by (workspace_id, trace_id))) engine = ReplacingMergeTree order by (workspace_id, id)
      settings deduplicate_merge_projection_mode = 'rebuild'`,
    `create materialized view ${table}_ids_view to ${table}_ids as select workspace_id, id, trace_id, project_id, start_time from ${table}`,
  ],
});

export const pointVariants: IndexVariant[] = [
  { name: "no index", columns: `${base}, ${payloads}`, questions: pointQuestions },
  {
    name: "bloom filters",
    columns: `${base}, ${payloads}, index by_id id type bloom_filter(0.001) granularity 1,
      index by_trace trace_id type bloom_filter(0.001) granularity 1`,
    questions: pointQuestions,
  },
  {
    name: "projections of positions",
    columns: `${base}, ${payloads}, projection by_id (select id, _part_offset order by id),
      projection by_trace (select trace_id, _part_offset order by trace_id)`,
    questions: pointQuestions,
  },
  {
    name: "side table",
    columns: `${base}, ${payloads}`,
    side: sideTable,
    questions: (table, side) => throughSide(table, side!),
  },
];

const contains = (word: string) => `(inputs ilike '%${word}%' or outputs ilike '%${word}%')`;
const lowered = (word: string) => `(lower(inputs) like '%${word}%' or lower(outputs) like '%${word}%')`;
const wordQuestions =
  (condition: (word: string) => string) =>
  (table: string): Question[] => [
    ...[
      ["rare word", rareWord],
      ["absent word", "xylophagous"],
      ["part of the rare word", rareWord.slice(3, 11)],
    ].map(([name, word]) => ({
      name: name!,
      query: `select id from ${table} where workspace_id = {w: UUID} and ${condition(word!)} limit 50`,
    })),
    {
      name: "common word, newest 50 of a project",
      query: `select id from ${table} where workspace_id = {w: UUID} and project_id = '00000000-0000-4000-9000-000000000003' and ${condition("bacece")}
        order by start_time desc, id desc limit 50`,
    },
  ];
const searchIndex = (type: string, of = "lower({})") =>
  ["inputs", "outputs"]
    .map((column) => `index search_${column} ${of.replace("{}", column)} type ${type}`)
    .join(", ");

export const wordVariants: IndexVariant[] = [
  { name: "no index, ilike", columns: `${base}, ${payloads}`, questions: wordQuestions(contains) },
  {
    name: "ngrambf_v1(3), 64 kB",
    columns: `${base}, ${payloads}, ${searchIndex("ngrambf_v1(3, 65536, 2, 0) granularity 1")}`,
    questions: wordQuestions(lowered),
  },
  {
    name: "text(ngrams(3))",
    columns: `${base}, ${payloads}, ${searchIndex("text(tokenizer = ngrams(3))")}`,
    questions: wordQuestions(lowered),
  },
  {
    name: "text(splitByNonAlpha)",
    columns: `${base}, ${payloads}, ${searchIndex("text(tokenizer = splitByNonAlpha)")}`,
    questions: wordQuestions(lowered),
  },
];

const pairQuestions =
  (of: (key: string) => string, extra: (key: string, value: string) => string = () => "1") =>
  (table: string): Question[] => [
    ...[
      ["rare pair", "user", "user-4711"],
      ["one in forty, newest 50", "revision", "r7"],
    ].map(([name, key, value]) => ({
      name: name!,
      query: `select id from ${table} where workspace_id = {w: UUID} and ${of(key!)} = '${value}' and ${extra(key!, value!)} order by start_time desc limit 50`,
    })),
    {
      name: "read 500 whole",
      query: `select metadata from ${table} where workspace_id = {w: UUID} order by start_time limit 500`,
    },
  ];
const stringPair = (key: string) => `JSONExtractString(metadata, '${key}')`;
const term = (key: string, value: string) => `has(terms, toInt32(murmurHash3_32('${key}=${value}')))`;

export const metadataVariants: IndexVariant[] = [
  {
    name: "String",
    columns: `${base}, metadata String codec(ZSTD(1))`,
    questions: pairQuestions(stringPair),
  },
  {
    name: "String + terms with a bloom filter",
    columns: `${base}, metadata String codec(ZSTD(1)),
      terms Array(Int32) materialized arrayMap((k, v) -> toInt32(murmurHash3_32(concat(k, '=', v))), arrayMap(x -> x.1, JSONExtractKeysAndValues(metadata, 'String')), arrayMap(x -> x.2, JSONExtractKeysAndValues(metadata, 'String'))) codec(ZSTD(1)),
      index by_term terms type bloom_filter(0.01) granularity 1`,
    questions: pairQuestions(stringPair, term),
  },
  {
    name: "Map",
    columns: `${base}, metadata Map(LowCardinality(String), String) codec(ZSTD(1))`,
    questions: pairQuestions((key) => `metadata['${key}']`),
  },
  {
    name: "Map with bloom filters",
    columns: `${base}, metadata Map(LowCardinality(String), String) codec(ZSTD(1)), index by_value mapValues(metadata) type bloom_filter(0.01) granularity 1`,
    questions: pairQuestions(
      (key) => `metadata['${key}']`,
      (_key, value) => `has(mapValues(metadata), '${value}')`,
    ),
  },
  {
    name: "JSON",
    columns: `${base}, metadata JSON`,
    questions: pairQuestions((key) => `metadata.${key}.:String`),
  },
];

export async function measureIndexes(
  bench: Bench,
  variant: IndexVariant,
  count: number,
): Promise<Record<string, number>> {
  const settings = variant.settings ? ` settings ${variant.settings}` : "";
  const table = await bench.createTable(`(${variant.columns}) engine = MergeTree ${order}${settings}`);
  const side = variant.side?.(table);
  for (const statement of side?.statements ?? []) await bench.run(statement);
  const hasMap = / Map\(| JSON/.test(variant.columns);
  const hasPayloads = variant.columns.includes("inputs");
  let writtenMs = 0;
  for (let at = 0; at < count; at += batchRows) {
    const rows = makeRuns(batchRows, at).map(({ tags: _tags, metadata, inputs, outputs, ...run }) => ({
      ...run,
      ...(hasPayloads ? { inputs, outputs } : { metadata: hasMap ? metadata : JSON.stringify(metadata) }),
    }));
    const begun = performance.now();
    await bench.insert(table, rows);
    writtenMs += performance.now() - begun;
  }
  // As it is after a while, not as the last inserts left it.
  await bench.run(`optimize table ${table} final`);
  if (side) await bench.run(`optimize table ${side.table} final`);
  const bytes = (await bench.bytesOf(table)) + (side ? await bench.bytesOf(side.table) : 0);
  const figures: Record<string, number> = {
    "runs/s": count / (writtenMs / 1_000),
    "bytes/run": bytes / count,
  };
  for (const { name, query } of variant.questions(table, side?.table)) {
    const params = { w: workspaceId, id: someRun, trace: someTrace, ids };
    figures[`${name}, ms`] = await bench.median(query, params);
    figures[`${name}, rows read`] = await bench.rowsRead(query, params);
  }
  if (side) await bench.run(`drop table ${table}_ids_view sync`);
  for (const each of [table, ...(side ? [side.table] : [])]) await bench.run(`drop table ${each} sync`);
  return figures;
}
