import type { Sql, Statement } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";

type PlanNode = {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Index Cond"?: string;
  "Plan Rows": number;
  Plans?: PlanNode[];
};

export type IndexFacts = Map<string, { leading: string; rows: number }>;

/** Of every index: its first column, and how many entries it has. */
export async function readIndexes(sql: Sql): Promise<IndexFacts> {
  const { rows } = await raw<{ name: string; leading: string; rows: number }>`
    select c.relname as name, pg_get_indexdef(c.oid, 1, true) as leading, c.reltuples as rows
    from pg_index i join pg_class c on c.oid = i.indexrelid`.execute(sql);
  return new Map(rows.map((row) => [row.name, { leading: row.leading, rows: Number(row.rows) }]));
}

/** Tables and partitions with at least so many rows, as PostgreSQL has counted them. */
export async function listLarge(sql: Sql, rows: number): Promise<Set<string>> {
  const found = await raw<{ name: string }>`select relname as name from pg_class
    where relkind = 'r' and reltuples >= ${rows} and relnamespace = 'public'::regnamespace`.execute(sql);
  return new Set(found.rows.map((row) => row.name));
}

/**
 * The plan PostgreSQL keeps for a prepared statement whatever its values, or, with values, the one it makes for them.
 */
export async function planOf(
  sql: Sql,
  statement: Statement,
  values?: readonly (string | null)[],
): Promise<PlanNode> {
  const count = Math.max(0, ...[...statement.text.matchAll(/\$(\d+)/g)].map((found) => Number(found[1])));
  const given = Array.from({ length: count }, (_, index) => literal(values?.[index] ?? null));
  return sql.connection().execute(async (connection) => {
    const mode = values === undefined ? "force_generic_plan" : "force_custom_plan";
    await raw.raw(`set plan_cache_mode = ${mode}`).execute(connection);
    await raw.raw(`prepare plan_to_read as ${statement.text}`).execute(connection);
    try {
      const call = count > 0 ? `plan_to_read(${given.join(", ")})` : "plan_to_read";
      const { rows } = await raw
        .raw<{ "QUERY PLAN": { Plan: PlanNode }[] }>(`explain (format json) execute ${call}`)
        .execute(connection);
      return rows[0]!["QUERY PLAN"][0]!.Plan;
    } finally {
      await raw.raw("deallocate plan_to_read").execute(connection);
      await raw.raw("reset plan_cache_mode").execute(connection);
    }
  });
}

/** After so many executions PostgreSQL compares what it planned for their values with one plan for all values. */
const plannedForValues = 5;

/** Whether a connection comes to keep a plan. One that does not is planned at each execution, often for longer than it runs. */
export async function keepsPlan(sql: Sql, statement: Statement): Promise<boolean> {
  return sql.connection().execute(async (connection) => {
    await raw.raw(`prepare plan_to_keep as ${statement.text}`).execute(connection);
    try {
      const { types } = await preparedPlan(connection);
      const call = types.length > 0 ? `plan_to_keep(${types.map(sampleOf).join(", ")})` : "plan_to_keep";
      for (let times = 0; times <= plannedForValues; times += 1)
        await raw.raw(`explain execute ${call}`).execute(connection);
      return (await preparedPlan(connection)).kept > 0;
    } finally {
      await raw.raw("deallocate plan_to_keep").execute(connection);
    }
  });
}

async function preparedPlan(sql: Sql): Promise<{ types: string[]; kept: number }> {
  const { rows } = await raw<{ types: string[]; kept: number }>`
    select parameter_types::text[] as types, generic_plans::int as kept
    from pg_prepared_statements where name = 'plan_to_keep'`.execute(sql);
  return rows[0]!;
}

const samples: Record<string, string> = {
  uuid: "00000000-0000-0000-0000-000000000000",
  boolean: "true",
  "timestamp with time zone": "2026-01-01",
  bytea: "",
};

/** Of an array one element: the shortest batch is the cheapest to plan for. */
function sampleOf(type: string): string {
  const element = samples[type.replace("[]", "")] ?? "1";
  return literal(type.endsWith("[]") ? `{${element}}` : element);
}

function literal(value: string | null): string {
  return value === null ? "null" : `'${value.replaceAll("'", "''")}'`;
}

export type PlanLimits = {
  /** Tables that must not be read whole. */
  large: ReadonlySet<string>;
  indexes: IndexFacts;
  /** How many entries of an index a scan may be expected to look at. */
  maxEntries: number;
};

/** What in a plan grows with its tables: whole tables read, indexes walked without their first column. */
export function complaintsAbout(plan: PlanNode, { large, indexes, maxEntries }: PlanLimits): string[] {
  const complaints: string[] = [];
  // Below a limit an index in the wanted order is left early, unless something must see all rows first.
  const visit = (node: PlanNode, limited: boolean) => {
    const kind = node["Node Type"];
    const relation = node["Relation Name"];
    if (kind === "Seq Scan" && relation && large.has(relation)) complaints.push(`reads all of ${relation}`);
    const index = node["Index Name"];
    const facts = index === undefined ? undefined : indexes.get(index);
    if (index !== undefined && facts && facts.rows > maxEntries) {
      const condition = node["Index Cond"] ?? "";
      if (!new RegExp(`\\b${facts.leading}\\b`).test(condition))
        complaints.push(`walks ${index} without ${facts.leading}: ${condition || "no condition"}`);
      else if (node["Plan Rows"] > maxEntries && !limited)
        complaints.push(`expects ${node["Plan Rows"]} rows of ${index}: ${condition}`);
    }
    const passes = kind === "Limit" || (limited && !/Sort|Aggregate|Hash|Materialize|CTE/.test(kind));
    for (const inner of node.Plans ?? []) visit(inner, passes);
  };
  visit(plan, false);
  return complaints;
}
