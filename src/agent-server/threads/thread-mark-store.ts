import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Differs whenever a thread of the workspace came or went on. */
export async function readThreadsMark(sql: Sql, workspaceId: string): Promise<string> {
  const { rows } = await raw<{ mark: string }>`
    select concat_ws(' ', thread_id, updated_at, status) as mark from threads
    where workspace_id = ${workspaceId} order by updated_at desc limit 1`.execute(sql);
  return rows[0]?.mark ?? "";
}
