import { raw } from "../src/platform/db/raw.ts";
import { fillTables } from "../tests/support/filled-tables.ts";
import { openBenchDatabase } from "./bench-database.ts";

/** What grows with the work of an agent server. */
const tables = [
  ...["threads", "runs", "thread_events", "checkpoints", "checkpoint_blobs", "checkpoint_writes"],
  ...["jobs", "audit_events"],
];

/**
 * A database in which each table of an agent server has so many rows, of five other workspaces, analyzed. What was
 * filled as waiting or running has ended, so that no worker takes it up.
 */
export async function openGrownDatabase(
  rows: number,
): Promise<Awaited<ReturnType<typeof openBenchDatabase>>> {
  const opened = await openBenchDatabase();
  try {
    const { sql } = opened.database;
    await fillTables(sql, tables, { from: 0, to: rows });
    await raw`delete from runs where status in ('pending', 'running')`.execute(sql);
    await raw`delete from jobs where status in ('pending', 'running')`.execute(sql);
    for (const table of tables) await raw.raw(`vacuum (analyze) ${table}`).execute(sql);
    return opened;
  } catch (error) {
    await opened.stop();
    throw error;
  }
}
