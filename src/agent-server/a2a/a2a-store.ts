import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Where a run that resumes a task says which. */
export const taskKey = "a2a_task_id";

/**
 * A task is the run it began with, and every run that resumed it since. Null when there is no such run in
 * the workspace; otherwise the latest run of the task, and the newest run of its thread.
 */
export async function findTaskRun(
  sql: Sql,
  workspaceId: string,
  taskId: string,
): Promise<{ latest: string; newest: string } | null> {
  const { rows } = await raw<{ latest: string; newest: string }>`select
      (select run_id from runs l where l.thread_id = r.thread_id
        and (l.run_id = r.run_id or l.metadata ->> ${taskKey} = r.run_id::text)
        order by l.created_at desc, l.run_id desc limit 1) as latest,
      (select run_id from runs n where n.thread_id = r.thread_id
        order by n.created_at desc, n.run_id desc limit 1) as newest
    from runs r where r.run_id = ${taskId} and r.workspace_id = ${workspaceId}`.execute(sql);
  return rows[0] ?? null;
}
