import { randomUUID } from "node:crypto";
import type { Sql } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";

/** A run on a thread, which is made where it is not there yet; answers its id. */
export async function storeRun(
  sql: Sql,
  threadId: string,
  { status = "running", attempt = 1 }: { status?: string; attempt?: number } = {},
): Promise<string> {
  const [runId, workspaceId] = [randomUUID(), randomUUID()];
  await raw`insert into threads (thread_id, workspace_id) values (${threadId}, ${workspaceId})
    on conflict do nothing`.execute(sql);
  await raw`insert into runs (run_id, thread_id, workspace_id, assistant_id, graph_id, status,
      multitask_strategy, kwargs_json, attempt)
    values (${runId}, ${threadId}, ${workspaceId}, ${randomUUID()}, 'echo', ${status}, 'enqueue', '{}',
      ${attempt})`.execute(sql);
  return runId;
}
