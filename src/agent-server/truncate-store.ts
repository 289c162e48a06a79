import type { Sql } from "../platform/db/database.ts";
import { raw } from "../platform/db/raw.ts";
import { deleteThreadCheckpoints } from "./checkpoints/checkpoint-maintenance-store.ts";

export type Truncated = {
  runs: boolean;
  threads: boolean;
  assistants: boolean;
  checkpoints: boolean;
  store: boolean;
};

/** Deletes what is asked of one workspace; the default assistants stay. */
export async function truncateWorkspace(sql: Sql, workspaceId: string, what: Truncated): Promise<void> {
  const { rows } = await raw<{
    thread_id: string;
  }>`select thread_id from threads where workspace_id = ${workspaceId}`.execute(sql);
  const threadIds = rows.map((row) => row.thread_id);
  if (what.runs) {
    await raw`delete from thread_events where thread_id = any(${threadIds})`.execute(sql);
    await raw`delete from runs where workspace_id = ${workspaceId}`.execute(sql);
  }
  if (what.checkpoints || what.threads) await deleteThreadCheckpoints(sql, threadIds);
  if (what.threads) {
    await raw`delete from thread_events where thread_id = any(${threadIds})`.execute(sql);
    await raw`delete from threads where workspace_id = ${workspaceId}`.execute(sql);
  }
  if (what.assistants) {
    await raw`delete from assistants where workspace_id = ${workspaceId}
      and metadata ->> 'created_by' is distinct from 'system'`.execute(sql);
  }
  if (what.store) await raw`delete from store_items where workspace_id = ${workspaceId}`.execute(sql);
}
