import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";

/** What hangs on runs and is in PostgreSQL: it goes before they do. */
export async function deleteCompanions(
  sql: Sql,
  workspaceId: string,
  runIds: readonly string[],
): Promise<void> {
  await raw`
    with attachments as (
      delete from trace_attachments where run_id = any(${runIds}::uuid[]) and workspace_id = ${workspaceId}
    )
    delete from trace_feedback where run_id = any(${runIds}::uuid[]) and workspace_id = ${workspaceId}
  `.execute(sql);
}
