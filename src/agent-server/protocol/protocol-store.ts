import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import type { RunStatus } from "../runs/run.ts";
import type { ThreadStatus } from "../threads/thread.ts";

export type ProtocolThread = {
  thread_id: string;
  status: ThreadStatus;
  metadata: Record<string, unknown>;
  interrupts_json: string;
  /** Events of the protocol up to this number are not kept any more. */
  pruned_protocol_seq: number;
  /** Whether every run on it speaks the streaming protocol. */
  protocol: boolean;
};

/** Whose thread it is: `other` also when a project's authorization hides it from the caller. */
export type Ownership = { kind: "own"; thread: ProtocolThread } | { kind: "other" } | { kind: "unknown" };

export type OwnershipQuery = { workspaceId: string; threadId: string };
type OwnershipRow = ProtocolThread & { own: boolean | null };

export const findOwnershipsStatement: Statement = {
  name: "protocol_find_threads_4",
  text: `select q.ordinal::int as ordinal, t.thread_id, t.status, t.metadata, t.interrupts_json,
      t.pruned_protocol_seq, t.protocol, t.workspace_id = q.workspace_id as own
    from unnest((select $1::uuid[]), $2::uuid[]) with ordinality as q(thread_id, workspace_id, ordinal)
    left join lateral (select * from threads where thread_id = q.thread_id limit 1) t on true
    order by q.ordinal`,
};

/** For many callers at once, in their order. */
export async function findOwnerships(
  database: Database,
  queries: readonly OwnershipQuery[],
): Promise<Ownership[]> {
  const rows = await database.query<Nullable<OwnershipRow>>(findOwnershipsStatement, [
    queries.map((query) => query.threadId),
    queries.map((query) => query.workspaceId),
  ]);
  return rows.map((row) => (row.thread_id === null ? { kind: "unknown" } : toOwnership(row as OwnershipRow)));
}

/** For a caller who may see only some threads, by the project's own authorization. */
export async function findOwnership(
  sql: Sql,
  { workspaceId, threadId }: OwnershipQuery,
  condition: RawBuilder<unknown>,
): Promise<Ownership> {
  const { rows } = await raw<OwnershipRow>`
    select thread_id, status, metadata, interrupts_json, pruned_protocol_seq, protocol,
      workspace_id = ${workspaceId} and ${condition} as own
    from threads where thread_id = ${threadId}`.execute(sql);
  return rows[0] ? toOwnership(rows[0]) : { kind: "unknown" };
}

type Nullable<T> = { [K in keyof T]: T[K] | null };

function toOwnership({ own, ...thread }: OwnershipRow): Ownership {
  if (own !== true) return { kind: "other" };
  return { kind: "own", thread: { ...thread, pruned_protocol_seq: Number(thread.pruned_protocol_seq) } };
}

/** From now on every run on the thread also speaks the streaming protocol. */
export async function markProtocolThread(sql: Sql, threadId: string): Promise<void> {
  await raw`update threads set protocol = true where thread_id = ${threadId} and not protocol`.execute(sql);
}

export type TreeRun = { run_id: string; graph_id: string; status: RunStatus };

/** The run, or the newest of the thread; undefined when there is none. */
export async function findTreeRun(
  sql: Sql,
  threadId: string,
  runId: string | undefined,
): Promise<TreeRun | undefined> {
  const { rows } = await raw<TreeRun>`select run_id, graph_id, status from runs
    where thread_id = ${threadId} and (${runId ?? null}::uuid is null or run_id = ${runId ?? null}::uuid)
    order by started_at desc nulls last, created_at desc limit 1`.execute(sql);
  return rows[0];
}

/** The lifecycle events of a run, in order, as JSON text. */
export async function readLifecycle(sql: Sql, threadId: string, runId: string): Promise<string[]> {
  const { rows } = await raw<{ data: string }>`select data from thread_events
    where thread_id = ${threadId} and run_id = ${runId} and family = 'protocol' and name = 'lifecycle'
    order by seq`.execute(sql);
  return rows.map((row) => row.data);
}

export const countMissed: Statement = {
  name: "protocol_count_missed_2",
  text: `select count(*)::int as count from thread_events
    where thread_id = $1 and run_id = $2 and coalesce(number, seq) > $3 and family = 'protocol'`,
};

export async function countEventsAfter(
  database: Database,
  threadId: string,
  runId: string,
  since: number,
): Promise<number> {
  const [row] = await database.query<{ count: number }>(countMissed, [threadId, runId, since]);
  return row?.count ?? 0;
}
