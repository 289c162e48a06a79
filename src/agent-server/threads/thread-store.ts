import type { Database } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { deleteThreadCheckpoints } from "../checkpoints/checkpoint-maintenance-store.ts";

/** Removes threads with everything that belongs to them. */
export async function deleteThreads(database: Database, threadIds: readonly string[]): Promise<void> {
  await database.transaction(async (tx) => {
    await raw`delete from threads where thread_id = any(${threadIds})`.execute(tx);
    await raw`delete from thread_events where thread_id = any(${threadIds})`.execute(tx);
    await deleteThreadCheckpoints(tx, threadIds);
  });
}

/** What a run that is over left behind, as `wait` and `join` answer it. */
export async function finalResultOf(
  database: Database,
  run: { run_id: string; thread_id: string },
): Promise<string> {
  const { rows } = await raw<{
    values_json: string | null;
    interrupts_json: string;
    error_json: string | null;
  }>`select t.values_json, t.interrupts_json, r.error_json
    from threads t left join runs r on r.run_id = ${run.run_id}
    where t.thread_id = ${run.thread_id}`.execute(database.sql);
  const [row] = rows;
  if (!row) return "{}";
  if (row.error_json) return `{"__error__":${row.error_json}}`;
  if (row.interrupts_json === "{}") return row.values_json ?? "{}";
  const interrupts = Object.values(JSON.parse(row.interrupts_json) as Record<string, unknown[]>).flat();
  return JSON.stringify({ ...JSON.parse(row.values_json ?? "{}"), __interrupt__: interrupts });
}
