import type { Database } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";

/** Tables with a row that holds the text, in whatever column. */
export async function tablesHolding(database: Database, text: string): Promise<string[]> {
  const { rows: tables } = await raw<{ name: string }>`
    select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')`.execute(database.sql);
  const holding: string[] = [];
  for (const { name } of tables) {
    const { rows } = await raw<{ found: boolean }>`
      select exists (select 1 from ${raw.raw(name)} t where t::text like ${`%${text}%`}) as found`.execute(
      database.sql,
    );
    if (rows[0]?.found) holding.push(name);
  }
  return holding;
}
