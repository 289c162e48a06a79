import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Exports that ended without success in the window; spawned ones of a schedule are among them. */
export async function countFailedExports(
  sql: Sql,
  workspaceId: string,
  projectId: string | null,
  { from, to }: { from: Date; to: Date },
): Promise<number> {
  const { rows } = await raw<{ count: number }>`
    select count(*)::int as count from bulk_exports where workspace_id = ${workspaceId}
      and status in ('FAILED', 'TIMEDOUT') and finished_at >= ${from} and finished_at <= ${to}
      and (${projectId}::uuid is null or session_id = ${projectId}::uuid)`.execute(sql);
  return rows[0]!.count;
}
