import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type Engine = { engine: "postgres" | "clickhouse"; place: string | null };
export type NotedEngine = Engine & { noted_at: Date };

/** Notes the engine where none is noted, or PostgreSQL, which all begin with. Returns what was noted before. */
export async function noteEngine(sql: Sql, { engine, place }: Engine): Promise<NotedEngine | undefined> {
  const before = await findEngine(sql);
  await raw`insert into trace_engine (engine, place) values (${engine}, ${place})
    on conflict (is_only) do update set engine = excluded.engine, place = excluded.place, noted_at = now()
    where trace_engine.engine = 'postgres' and excluded.engine <> 'postgres'`.execute(sql);
  return before;
}

export async function findEngine(sql: Sql): Promise<NotedEngine | undefined> {
  const { rows } = await raw<NotedEngine>`select engine, place, noted_at from trace_engine`.execute(sql);
  return rows[0];
}

export async function replaceEngine(sql: Sql, { engine, place }: Engine): Promise<void> {
  await raw`insert into trace_engine (engine, place) values (${engine}, ${place})
    on conflict (is_only) do update set engine = excluded.engine, place = excluded.place, noted_at = now()`.execute(
    sql,
  );
}
