import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

type Ids = { from: string; to: string };
type Wanted = { workspaceId: string; words: string; ids: Ids | null; limit: number };

export type FoundThread = { thread_id: string; title: string | null; status: string };
export type FoundRun = { run_id: string; thread_id: string; status: string; graph_id: string };
export type FoundAssistant = { assistant_id: string; name: string; graph_id: string };

/** However many there are, no more are read than these. */
const latestThreads = 1_000;
const latestAssistants = 1_000;

/** By the id, or by words of the title among the latest. */
export async function findThreads(sql: Sql, wanted: Wanted): Promise<FoundThread[]> {
  const { workspaceId, words, ids, limit } = wanted;
  const { rows } = ids
    ? await raw<FoundThread>`
        select thread_id, metadata->>'title' as title, status from threads
        where thread_id between ${ids.from}::uuid and ${ids.to}::uuid and workspace_id = ${workspaceId}
        limit ${limit}`.execute(sql)
    : await raw<FoundThread>`
        select thread_id, title, status from (
          select thread_id, metadata->>'title' as title, status, updated_at from threads
          where workspace_id = ${workspaceId} order by updated_at desc limit ${latestThreads}
        ) latest
        where position(lower(${words}) in lower(title)) > 0
        order by updated_at desc limit ${limit}`.execute(sql);
  return rows;
}

export async function findRunsById(sql: Sql, { workspaceId, ids, limit }: Wanted): Promise<FoundRun[]> {
  if (ids === null) return [];
  const { rows } = await raw<FoundRun>`
    select run_id, thread_id, status, graph_id from runs
    where run_id between ${ids.from}::uuid and ${ids.to}::uuid and workspace_id = ${workspaceId}
    limit ${limit}`.execute(sql);
  return rows;
}

export async function findAssistantsByName(sql: Sql, wanted: Wanted): Promise<FoundAssistant[]> {
  const { from = null, to = null } = wanted.ids ?? {};
  const { rows } = await raw<FoundAssistant>`
    select assistant_id, name, graph_id from (
      select assistant_id, name, graph_id from assistants
      where workspace_id = ${wanted.workspaceId} limit ${latestAssistants}
    ) listed
    where position(lower(${wanted.words}) in lower(name)) > 0
      or assistant_id between ${from}::uuid and ${to}::uuid
    order by name limit ${wanted.limit}`.execute(sql);
  return rows;
}
