import type { Database } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";

/** `table: row` of every row that names one of these ids, in whatever column. */
export type TenantRows = ReadonlySet<string>;
export type RowReader = () => Promise<TenantRows>;

export async function createRowReader(database: Database, ids: readonly string[]): Promise<RowReader> {
  const { rows: tables } = await raw<{ name: string }>`
    select format('%I', relname) as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`.execute(
    database.sql,
  );
  // One automaton for all of them: `like any` would read each row once per id.
  const pattern = ids.join("|");
  const parts = tables.map(
    ({ name }) =>
      raw`select ${name} || ': ' || t::text as row from ${raw.raw(name)} t where t::text ~ ${pattern}`,
  );
  return async () => {
    const { rows } = await raw<{ row: string }>`${raw.join(parts, raw` union all `)}`.execute(database.sql);
    return new Set(rows.map(({ row }) => row));
  };
}

/** What changed or went, and what is new in that workspace. Rows of others may name its ids: they sent them. */
export function differingRows(
  before: TenantRows,
  after: TenantRows,
  workspaces: { theirs: string; mine: string },
): string[] {
  const others = (row: string) => !row.includes(workspaces.mine);
  const gone = [...before]
    .filter((row) => !after.has(row) && others(row))
    .map((row) => `changed or gone: ${row}`);
  const added = [...after]
    .filter((row) => !before.has(row) && row.includes(workspaces.theirs) && others(row))
    .map((row) => `new: ${row}`);
  return [...gone, ...added].map((line) => line.slice(0, 300));
}
