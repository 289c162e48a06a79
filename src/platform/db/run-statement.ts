import { CompiledQuery } from "kysely";
import type { Sql, Statement } from "./database.ts";

/** A hot statement within a transaction; it is planned each time, as the handle keeps no prepared ones. */
export async function runStatement<Row extends object>(
  sql: Sql,
  { text }: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  const { rows } = await sql.executeQuery<Row>(CompiledQuery.raw(text, values as unknown[]));
  return rows;
}
