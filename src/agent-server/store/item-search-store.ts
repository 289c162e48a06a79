import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { joinNamespace, splitNamespace, storableJson, storableText } from "./item.ts";
import type { Condition } from "./item-filter.ts";
import { type ItemRow, itemColumns, notExpired } from "./item-store.ts";

export type ItemSearch = {
  workspaceId: string;
  prefix: readonly string[];
  conditions: readonly Condition[];
  /** What a project's own authorization asks of the items, on `i.document`. */
  admitted?: RawBuilder<unknown> | undefined;
  limit: number;
  offset: number;
  now: Date;
};

/** The newest first. With words, those that hold more of them come before. */
export async function findMatching(
  sql: Sql,
  search: ItemSearch,
  words: readonly string[],
): Promise<ItemRow[]> {
  const order = words.length === 0 ? raw`` : raw`${countWords(words)} desc,`;
  const { rows } = await raw<ItemRow>`select ${itemColumns}
    from store_items i
    where ${matches(search)}
    order by ${order} i.updated_at desc, i.namespace, i.key
    limit ${search.limit} offset ${search.offset}`.execute(sql);
  return rows;
}

export type ScoredRow = ItemRow & { score: number };

/** How the database multiplies two vectors: with pgvector's operator, or with plain SQL. */
export type VectorMath = "pgvector" | "sql";

/** The most similar first; an item counts by the closest of its texts. Exact: every item in reach is looked at. */
export async function findSimilar(
  sql: Sql,
  search: ItemSearch,
  vector: readonly number[],
  math: VectorMath,
): Promise<ScoredRow[]> {
  const { rows } = await raw<ScoredRow>`select ${itemColumns}, nearest.score
    from store_items i
    cross join lateral (
      select max(${innerProduct(vector, math)})::float8 as score
      from store_vectors v
      where v.workspace_id = i.workspace_id and v.namespace = i.namespace and v.key = i.key
        and cardinality(v.embedding) = ${vector.length}
    ) as nearest
    where ${matches(search)} and nearest.score is not null
    order by nearest.score desc, i.updated_at desc, i.namespace, i.key
    limit ${search.limit} offset ${search.offset}`.execute(sql);
  return rows;
}

function innerProduct(vector: readonly number[], math: VectorMath): RawBuilder<number> {
  const wanted = `{${vector.join(",")}}`;
  if (math === "pgvector") return raw`-(v.embedding::vector <#> ${wanted}::real[]::vector)`;
  return raw`(select sum(pair.a::float8 * pair.b)
    from unnest(v.embedding, ${wanted}::real[]) as pair(a, b))`;
}

function matches(search: ItemSearch): RawBuilder<boolean> {
  return raw.join(
    [
      raw`i.workspace_id = ${search.workspaceId}`,
      notExpired(search.now),
      ...underPrefix(search.prefix),
      ...search.conditions.map(passes),
      ...(search.admitted ? [search.admitted] : []),
    ],
    raw` and `,
  ) as RawBuilder<boolean>;
}

/** "." is followed by "/" in the bytewise order of the column, so what lies between them begins with the prefix. */
function underPrefix(prefix: readonly string[]): RawBuilder<boolean>[] {
  if (prefix.length === 0) return [];
  const path = joinNamespace(prefix);
  return [raw`(i.namespace = ${path} or (i.namespace >= ${`${path}.`} and i.namespace < ${`${path}/`}))`];
}

function passes({ field, comparison, operand }: Condition): RawBuilder<boolean> {
  const name = storableText(field);
  const actual = raw`i.document -> ${name}::text`;
  switch (comparison) {
    case "$eq":
      return raw`${actual} = ${jsonb(operand)}`;
    case "$ne":
      return raw`${actual} is distinct from ${jsonb(operand)}`;
    case "$in":
      return raw`coalesce(${actual} in (select * from jsonb_array_elements(${jsonb(operand)})), false)`;
    case "$nin":
      return raw`not coalesce(${actual} in (select * from jsonb_array_elements(${jsonb(operand)})), false)`;
    default: {
      const operator = raw.raw(orders[comparison]);
      const text = raw`i.document ->> ${name}::text`;
      // Only like compares with like; the cast must not be tried on anything else.
      return typeof operand === "number"
        ? raw`case when jsonb_typeof(${actual}) = 'number' then (${text})::numeric ${operator} ${operand}::numeric else false end`
        : raw`case when jsonb_typeof(${actual}) = 'string' then (${text}) collate "C" ${operator} ${storableText(String(operand))}::text else false end`;
    }
  }
}

const orders = { $gt: ">", $gte: ">=", $lt: "<", $lte: "<=" } as const;

function jsonb(value: unknown): RawBuilder<unknown> {
  return raw`${storableJson(JSON.stringify(value))}::jsonb`;
}

function countWords(words: readonly string[]): RawBuilder<number> {
  return raw`(select count(*) from unnest(${[...words]}::text[]) as word
    where exists (
      select from jsonb_path_query(i.document, 'strict $.**') as part
      where jsonb_typeof(part) in ('string', 'number') and position(word in lower(part #>> '{}')) > 0
    ))`;
}

export type NamespaceSearch = {
  workspaceId: string;
  /** "*" matches any one label. */
  prefixes: readonly (readonly string[])[];
  suffixes: readonly (readonly string[])[];
  maxDepth: number | undefined;
  admitted?: RawBuilder<unknown> | undefined;
  limit: number;
  offset: number;
  now: Date;
};

export async function findNamespaces(sql: Sql, search: NamespaceSearch): Promise<string[][]> {
  const shown =
    search.maxDepth === undefined
      ? raw`i.namespace`
      : raw`array_to_string(i.labels[:${search.maxDepth}::int], '.') collate "C"`;
  const conditions = [
    raw`i.workspace_id = ${search.workspaceId}`,
    notExpired(search.now),
    ...search.prefixes.flatMap((labels) => [
      ...underPrefix(literalStart(labels)),
      ...labelsAt(labels, (index) => raw`${index + 1}::int`),
    ]),
    ...search.suffixes.flatMap((labels) =>
      labelsAt(labels, (index) => raw`cardinality(i.labels) - ${labels.length - index - 1}::int`),
    ),
    ...(search.admitted ? [search.admitted] : []),
  ];
  const { rows } = await raw<{ namespace: string }>`select distinct ${shown} as namespace
    from (
      select workspace_id, namespace, document, expires_at, string_to_array(namespace, '.') as labels from store_items
    ) as i
    where ${raw.join(conditions, raw` and `)}
    order by namespace
    limit ${search.limit} offset ${search.offset}`.execute(sql);
  return rows.map((row) => splitNamespace(row.namespace));
}

function literalStart(labels: readonly string[]): readonly string[] {
  const wild = labels.indexOf("*");
  return wild === -1 ? labels : labels.slice(0, wild);
}

function labelsAt(
  labels: readonly string[],
  place: (index: number) => RawBuilder<unknown>,
): RawBuilder<unknown>[] {
  const fixed = labels.flatMap((label, index) =>
    label === "*" ? [] : [raw`i.labels[${place(index)}] = ${label}`],
  );
  return [raw`cardinality(i.labels) >= ${labels.length}::int`, ...fixed];
}
