import type { Database } from "../../src/platform/db/database.ts";
import { fillTables } from "./filled-tables.ts";
import type { listHotStatements } from "./hot-statements.ts";
import { recordIngestion } from "./recorded-ingestion.ts";
import { complaintsAbout, keepsPlan, listLarge, planOf, readIndexes } from "./statement-plans.ts";

/**
 * These read a thousand rows at once, because that is quicker than to look for a hundred. They are planned anew as soon
 * as PostgreSQL has counted more, and `TableGrowth` asks it to; so are statements without a name, each time.
 */
const plannedAnewWhenSmall = /^(runs_finish|jobs_claim|jobs_reclaim)_v?\d+$/;

export type PlansToRead = {
  statements: Awaited<ReturnType<typeof listHotStatements>>;
  /** To fill: with rows numbered from `from` up to `to`. */
  tables: readonly string[];
  from: number;
  to: number;
};

/** Fills and analyzes the tables, then answers what in the plans of the statements grows with them. */
export async function readPlans(database: Database, { statements, tables, from, to }: PlansToRead) {
  const { sql } = database;
  await fillTables(sql, tables, { from, to });
  const limits = {
    large: await listLarge(sql, to / 20),
    indexes: await readIndexes(sql),
    // A trace, a thread, a page: what one request may look at does not grow.
    maxEntries: Math.min(2_000, to / 5),
  };
  const planned = { ...limits, large: to > 1_000 ? limits.large : new Set<string>() };
  const found: string[] = [];
  for (const { key, statement } of statements) {
    const plan = await planOf(sql, statement);
    const isPlannedAnew = statement.name === "" || plannedAnewWhenSmall.test(statement.name);
    for (const complaint of complaintsAbout(plan, isPlannedAnew ? planned : limits))
      found.push(`${key} ${complaint}`);
    const isBatch = statement.name !== "" && /unnest\(.*\$\d/.test(statement.text);
    if (isBatch && !(await keepsPlan(sql, statement)))
      found.push(
        `${key} is planned at each execution: hide the length of its batch, as (select $1::uuid[]) does`,
      );
  }
  for (const { key, statement, values } of await recordIngestion(database)) {
    const plan = await planOf(sql, statement, values);
    for (const complaint of complaintsAbout(plan, planned)) found.push(`${key} ${complaint}`);
  }
  return found;
}
