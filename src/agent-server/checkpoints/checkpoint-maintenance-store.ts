import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { nameFromStored } from "./checkpoint.ts";
import { shortestBytes } from "./grown-lists.ts";

/** Those that need a transaction say so; the others are one statement each, so they are whole or not at all. */

export async function deleteThreadCheckpoints(sql: Sql, threadIds: readonly string[]): Promise<void> {
  await raw`
    with c as (delete from checkpoints where thread_id = any(${threadIds}::text[])),
      b as (delete from checkpoint_blobs where thread_id = any(${threadIds}::text[]))
    delete from checkpoint_writes where thread_id = any(${threadIds}::text[])`.execute(sql);
}

/**
 * Whoever writes an addition to one of these lists holds it until the commit. After this no more can come, and the next
 * statement of the transaction sees all that were there.
 */
async function holdLists(tx: Sql, threadIds: readonly string[]): Promise<void> {
  await raw`select from checkpoint_blobs
    where thread_id = any(${threadIds}::text[]) and base_version is null and octet_length(payload) >= ${shortestBytes}
    order by thread_id, checkpoint_ns, channel, version for update`.execute(tx);
}

/** The versions that `kept_values` add to; materialized, or they would be looked for again for each value. */
const addedTo = raw`added_to as materialized (
      select k.thread_id, k.checkpoint_ns, k.channel, b.base_version as version
      from kept_values k join checkpoint_blobs b on b.thread_id = k.thread_id
        and b.checkpoint_ns = k.checkpoint_ns and b.channel = k.channel and b.version = k.version
      where b.base_version is not null
    )`;

/** Whether a value `b` is neither kept nor added to. */
const isUnused = raw`not exists (
        select 1 from (select * from kept_values union all select * from added_to) k
        where k.thread_id = b.thread_id and k.checkpoint_ns = b.checkpoint_ns
          and k.channel = b.channel and k.version = b.version
      )`;

/**
 * Takes back what one run wrote on its thread: its checkpoints, what it wrote for others' checkpoints
 * (resuming an interrupt does), and the values nothing refers to any more. Needs a transaction.
 */
export async function deleteRunCheckpoints(
  tx: Sql,
  run: { threadId: string; runId: string },
): Promise<{ checkpoints: number }> {
  await holdLists(tx, [run.threadId]);
  const result = await raw<{ checkpoints: number }>`
    with gone as (
      delete from checkpoints where thread_id = ${run.threadId} and run_id = ${run.runId}::uuid
      returning checkpoint_ns, checkpoint_id
    ), writes as (
      delete from checkpoint_writes
      where thread_id = ${run.threadId} and (
        run_id = ${run.runId}::uuid
        or (checkpoint_ns, checkpoint_id) in (select checkpoint_ns, checkpoint_id from gone)
      )
    ), kept_values as (
      select c.thread_id, c.checkpoint_ns, k.channel, k.version
      from checkpoints c
      cross join lateral unnest(c.blob_channels, c.blob_versions) as k(channel, version)
      where c.thread_id = ${run.threadId} and c.run_id is distinct from ${run.runId}::uuid
    ), ${addedTo}, blobs as (
      delete from checkpoint_blobs b where b.thread_id = ${run.threadId} and ${isUnused}
    )
    select count(*)::int as checkpoints from gone`.execute(tx);
  return result.rows[0]!;
}

/** The copy belongs to no run: rolling back a run of the original must not touch it. */
export async function copyThreadCheckpoints(sql: Sql, from: string, to: string): Promise<void> {
  await raw`
    with c as (
      insert into checkpoints (
        thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, structure, metadata, blob_channels,
        blob_versions, created_at
      )
      select ${to}, checkpoint_ns, checkpoint_id, parent_checkpoint_id, structure, metadata, blob_channels,
        blob_versions, created_at
      from checkpoints where thread_id = ${from}
    ), b as (
      insert into checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, payload, base_version)
      select ${to}, checkpoint_ns, channel, version, type, payload, base_version
      from checkpoint_blobs where thread_id = ${from}
    )
    insert into checkpoint_writes (
      thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, payload
    )
    select ${to}, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, payload
    from checkpoint_writes where thread_id = ${from}`.execute(sql);
}

/**
 * Leaves what the thread's present state needs. A namespace with a task id in it (`node:id`) belongs to one
 * call of a subgraph; it is still needed only when it is newer than the root's latest checkpoint, that is,
 * while that call has not returned. Where channels are stored as differences, their history is the state. Needs
 * a transaction.
 */
export async function keepLatestCheckpoints(
  tx: Sql,
  threadIds: readonly string[],
): Promise<{ checkpoints: number }> {
  await holdLists(tx, threadIds);
  const result = await raw<{ checkpoints: number }>`
    with newest as (
      select distinct on (thread_id, checkpoint_ns) thread_id, checkpoint_ns, checkpoint_id,
        metadata like '%"counters_since_delta_snapshot"%' as needs_history
      from checkpoints where thread_id = any(${threadIds}::text[])
      order by thread_id, checkpoint_ns, checkpoint_id desc
    ), needed as (
      select n.* from newest n
      left join newest root on root.thread_id = n.thread_id and root.checkpoint_ns = ''
      where n.checkpoint_ns not like '%:%' or root.checkpoint_id is null
        or n.checkpoint_id > root.checkpoint_id
    ), kept as (
      select c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.blob_channels, c.blob_versions, n.needs_history
      from checkpoints c
      join needed n on n.thread_id = c.thread_id and n.checkpoint_ns = c.checkpoint_ns
        and (n.needs_history or n.checkpoint_id = c.checkpoint_id)
    ), kept_values as (
      select k.thread_id, k.checkpoint_ns, v.channel, v.version
      from kept k cross join lateral unnest(k.blob_channels, k.blob_versions) as v(channel, version)
    ), ${addedTo}, gone as (
      delete from checkpoints c
      where c.thread_id = any(${threadIds}::text[])
        and not exists (
          select 1 from kept k
          where k.thread_id = c.thread_id and k.checkpoint_ns = c.checkpoint_ns
            and k.checkpoint_id = c.checkpoint_id
        )
      returning 1
    ), orphaned as (
      update checkpoints c set parent_checkpoint_id = null
      from kept k
      where not k.needs_history and c.thread_id = k.thread_id and c.checkpoint_ns = k.checkpoint_ns
        and c.checkpoint_id = k.checkpoint_id
    ), writes as (
      delete from checkpoint_writes w
      where w.thread_id = any(${threadIds}::text[])
        and not exists (
          select 1 from kept k
          where k.thread_id = w.thread_id and k.checkpoint_ns = w.checkpoint_ns
            and k.checkpoint_id = w.checkpoint_id
        )
    ), blobs as (
      delete from checkpoint_blobs b where b.thread_id = any(${threadIds}::text[]) and ${isUnused}
    )
    select count(*)::int as checkpoints from gone`.execute(tx);
  return result.rows[0]!;
}

export type StorageSize = { count: number; bytes: number };
export type ThreadStorage = {
  checkpoints: StorageSize;
  channel_values: StorageSize & { by_channel: Record<string, StorageSize> };
  pending_writes: StorageSize;
};

/** Bytes of the stored text, before the database compresses it. */
export async function measureThreadCheckpoints(sql: Sql, threadId: string): Promise<ThreadStorage> {
  const result = await raw<StorageSize & { part: string; channel: string | null }>`
    select 'checkpoints' as part, null as channel, count(*)::int as count,
      coalesce(sum(octet_length(structure) + octet_length(metadata)), 0)::bigint as bytes
    from checkpoints where thread_id = ${threadId}
    union all
    select 'values', channel, count(*)::int, sum(octet_length(payload))::bigint
    from checkpoint_blobs where thread_id = ${threadId} group by channel
    union all
    select 'writes', null, count(*)::int, coalesce(sum(octet_length(payload)), 0)::bigint
    from checkpoint_writes where thread_id = ${threadId}`.execute(sql);
  const size = ({ count, bytes }: StorageSize): StorageSize => ({ count, bytes });
  const of = (part: string) => result.rows.filter((row) => row.part === part);
  const values = of("values").sort((a, b) => (a.channel! < b.channel! ? -1 : 1));
  const total = values.reduce(
    (sum, row) => ({ count: sum.count + row.count, bytes: sum.bytes + row.bytes }),
    {
      count: 0,
      bytes: 0,
    },
  );
  return {
    checkpoints: size(of("checkpoints")[0]!),
    channel_values: {
      ...total,
      by_channel: Object.fromEntries(values.map((row) => [nameFromStored(row.channel!), size(row)])),
    },
    pending_writes: size(of("writes")[0]!),
  };
}
