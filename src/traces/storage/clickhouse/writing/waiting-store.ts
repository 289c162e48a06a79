import type { Sql, Statement } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { runStatement } from "../../../../platform/db/run-statement.ts";
import type { RunKey } from "../../../runs/stored-run.ts";
import { isUnmoved } from "./unmoved-store.ts";

/** What is kept in PostgreSQL for runs. */
export type Waiting = RunKey & {
  /** Patches that came before their run: JSON, oldest first. */
  patches: string[] | null;
  last_seq: number | null;
  /** What runs below it spent may not be part of its totals yet. */
  is_awaited: boolean;
};

export const findWaitingOf: Statement = {
  name: "",
  text: `select w.id, w.workspace_id as "workspaceId", p.patches, p.last_seq, u.run_id is not null as is_awaited
    from unnest($1::uuid[], $2::uuid[]) as w (id, workspace_id)
    left join lateral (
      select array_agg(patch order by seq) as patches, max(seq) as last_seq from trace_parked_patches
      where run_id = w.id and workspace_id = w.workspace_id
    ) p on true
    left join lateral (
      select run_id from trace_parked_usage where run_id = w.id and workspace_id = w.workspace_id limit 1
    ) u on true
    where p.patches is not null or u.run_id is not null`,
};

export function findWaiting(tx: Sql, keys: readonly RunKey[]): Promise<Waiting[]> {
  return runStatement<Waiting>(tx, findWaitingOf, columnsOf(keys));
}

export async function parkPatches(tx: Sql, parked: readonly (RunKey & { patch: string })[]): Promise<void> {
  if (parked.length === 0) return;
  const [ids, workspaceIds] = columnsOf(parked);
  await raw`insert into trace_parked_patches (run_id, workspace_id, patch)
    select * from unnest(${ids}::uuid[], ${workspaceIds}::uuid[], ${parked.map(({ patch }) => patch)}::text[])`.execute(
    tx,
  );
}

export async function unparkPatches(
  tx: Sql,
  applied: readonly (RunKey & { lastSeq: number })[],
): Promise<void> {
  if (applied.length === 0) return;
  const [ids, workspaceIds] = columnsOf(applied);
  const seqs = applied.map(({ lastSeq }) => lastSeq);
  await raw`delete from trace_parked_patches p
    using unnest(${ids}::uuid[], ${workspaceIds}::uuid[], ${seqs}::bigint[]) as d (run_id, workspace_id, last_seq)
    where p.run_id = d.run_id and p.workspace_id = d.workspace_id and p.seq <= d.last_seq`.execute(tx);
}

/** Notes that totals of these runs are to be worked out again. Returns how many were not noted before. */
export async function markAwaited(tx: Sql, keys: readonly RunKey[]): Promise<number> {
  if (keys.length === 0) return 0;
  const [ids, workspaceIds] = columnsOf(keys);
  // How much it is stands in the runs themselves.
  const { rows } = await raw`insert into trace_parked_usage (run_id, workspace_id, usage)
    select distinct w.id, w.workspace_id, array_fill(0::numeric, array[9])
    from unnest(${ids}::uuid[], ${workspaceIds}::uuid[]) as w (id, workspace_id) order by w.id
    on conflict do nothing returning run_id`.execute(tx);
  return rows.length;
}

export async function unmarkAwaited(tx: Sql, keys: readonly RunKey[]): Promise<void> {
  if (keys.length === 0) return;
  const [ids, workspaceIds] = columnsOf(keys);
  await raw`delete from trace_parked_usage p using unnest(${ids}::uuid[], ${workspaceIds}::uuid[]) as w (id, workspace_id)
    where p.run_id = w.id and p.workspace_id = w.workspace_id`.execute(tx);
}

/** Runs that patches wait for, in order, after the one given. */
export async function listPatched(sql: Sql, after: RunKey, limit: number): Promise<RunKey[]> {
  const { rows } =
    await raw<RunKey>`select distinct run_id as id, workspace_id as "workspaceId" from trace_parked_patches
    where (run_id, workspace_id) > (${after.id}::uuid, ${after.workspaceId}::uuid) order by 1, 2 limit ${limit}`.execute(
      sql,
    );
  return rows;
}

/** The same for runs whose totals are to be worked out again. */
export async function listAwaited(sql: Sql, after: RunKey, limit: number): Promise<RunKey[]> {
  const { rows } =
    await raw<RunKey>`select run_id as id, workspace_id as "workspaceId" from trace_parked_usage
    where (run_id, workspace_id) > (${after.id}::uuid, ${after.workspaceId}::uuid) order by 1, 2 limit ${limit}`.execute(
      sql,
    );
  return rows;
}

/** What waits for a run that is still to be moved is kept: that one comes, however long it takes. */
export async function deleteWaitingBefore(sql: Sql, before: Date): Promise<void> {
  await raw`delete from trace_parked_patches w where received_at < ${before} and not ${isUnmoved}`.execute(
    sql,
  );
  await raw`delete from trace_parked_usage w where received_at < ${before} and not ${isUnmoved}`.execute(sql);
}

function columnsOf(keys: readonly RunKey[]): [string[], string[]] {
  return [keys.map(({ id }) => id), keys.map(({ workspaceId }) => workspaceId)];
}
