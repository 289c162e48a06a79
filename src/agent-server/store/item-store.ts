import { createHash } from "node:crypto";
import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { type Item, type ItemRef, joinNamespace, refText, splitNamespace } from "./item.ts";

export type ItemRow = {
  namespace: string;
  key: string;
  value: string;
  ttl_minutes: number | null;
  created_at: Date;
  updated_at: Date;
};

export const itemColumns = raw`i.namespace, i.key, i.value, i.ttl_minutes, i.created_at, i.updated_at`;

/** An item whose time is over is gone, swept or not. */
export function notExpired(now: Date) {
  return raw<boolean>`(i.expires_at is null or i.expires_at > ${now})`;
}

export function toItem(row: ItemRow): Item {
  return {
    namespace: splitNamespace(row.namespace),
    key: row.key,
    value: JSON.parse(row.value),
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}

export const findStatement: Statement = {
  name: "store_items_find_v2",
  text: `select i.namespace, i.key, i.value, i.ttl_minutes, i.created_at, i.updated_at
    from unnest((select $2::text[]), $3::text[]) as wanted(namespace, key)
    cross join lateral (
      select * from store_items i
      where i.workspace_id = $1 and i.namespace = wanted.namespace and i.key = wanted.key
        and (i.expires_at is null or i.expires_at > $4)
      limit 1
    ) i`,
};

export function findItems(
  database: Database,
  workspaceId: string,
  refs: readonly ItemRef[],
  now: Date,
): Promise<ItemRow[]> {
  return database.query<ItemRow>(findStatement, [workspaceId, ...columnsOf(refs), now]);
}

export type ItemWrite = ItemRef & {
  valueJson: string;
  documentJson: string;
  ttlMinutes: number | null;
  expiresAt: Date | null;
};

/** A write to an expired item creates it again. */
export async function upsertItems(
  sql: Sql,
  workspaceId: string,
  writes: readonly ItemWrite[],
  now: Date,
): Promise<void> {
  const [namespaces, keys] = columnsOf(writes);
  await raw`insert into store_items as i
      (workspace_id, namespace, key, value, document, ttl_minutes, expires_at, created_at, updated_at)
    select ${workspaceId}::uuid, namespace, key, value, document::jsonb, ttl_minutes, expires_at,
      ${now}::timestamptz, ${now}::timestamptz
    from unnest(
      ${namespaces}::text[],
      ${keys}::text[],
      ${writes.map((write) => write.valueJson)}::text[],
      ${writes.map((write) => write.documentJson)}::text[],
      ${writes.map((write) => write.ttlMinutes)}::float8[],
      ${writes.map((write) => write.expiresAt)}::timestamptz[]
    ) as written(namespace, key, value, document, ttl_minutes, expires_at)
    on conflict (workspace_id, namespace, key) do update set
      value = excluded.value,
      document = excluded.document,
      ttl_minutes = excluded.ttl_minutes,
      expires_at = excluded.expires_at,
      created_at = case when i.expires_at <= ${now} then excluded.created_at else i.created_at end,
      updated_at = excluded.updated_at`.execute(sql);
}

/**
 * Makes batches that write the same items wait for one another. Rows alone cannot: they come and go. Buckets, because
 * the server's room for locks is shared by all.
 */
export async function lockBuckets(sql: Sql, workspaceId: string, refs: readonly ItemRef[]): Promise<void> {
  const buckets = new Set(refs.map((ref) => bucketOf(workspaceId, ref)));
  const inOrder = [...buckets].sort((a, b) => a - b);
  await raw`select pg_advisory_xact_lock(${storeLocks}::int, bucket)
    from unnest(${inOrder}::int[]) as bucket`.execute(sql);
}

/** Sets the store's advisory locks apart from others. */
const storeLocks = 1_937_010_543;
const bucketCount = 256;

function bucketOf(workspaceId: string, ref: ItemRef): number {
  const digest = createHash("sha256")
    .update(`${workspaceId}\u0000${refText(ref)}`)
    .digest();
  return digest.readUInt32BE(0) % bucketCount;
}

export async function deleteItems(sql: Sql, workspaceId: string, refs: readonly ItemRef[]): Promise<void> {
  const [namespaces, keys] = columnsOf(refs);
  await raw`delete from store_items i
    where i.workspace_id = ${workspaceId}
      and (i.namespace, i.key) in (select * from unnest(${namespaces}::text[], ${keys}::text[]))`.execute(
    sql,
  );
}

/** After the items' rows are locked by a write, so that two writers cannot mix their vectors. */
export async function deleteVectors(sql: Sql, workspaceId: string, refs: readonly ItemRef[]): Promise<void> {
  const [namespaces, keys] = columnsOf(refs);
  await raw`delete from store_vectors
    where workspace_id = ${workspaceId}
      and (namespace, key) in (select * from unnest(${namespaces}::text[], ${keys}::text[]))`.execute(sql);
}

export type VectorWrite = ItemRef & { position: number; vector: number[] };

export async function insertVectors(
  sql: Sql,
  workspaceId: string,
  writes: readonly VectorWrite[],
): Promise<void> {
  const [namespaces, keys] = columnsOf(writes);
  // An array of arrays would have to be rectangular; text keeps one column per vector.
  await raw`insert into store_vectors (workspace_id, namespace, key, position, embedding)
    select ${workspaceId}::uuid, namespace, key, position, embedding::real[]
    from unnest(
      ${namespaces}::text[],
      ${keys}::text[],
      ${writes.map((write) => write.position)}::int[],
      ${writes.map((write) => `{${write.vector.join(",")}}`)}::text[]
    ) as written(namespace, key, position, embedding)`.execute(sql);
}

/** Items that another transaction is writing get their new time from that write. */
export async function refreshItems(
  sql: Sql,
  workspaceId: string,
  refs: readonly ItemRef[],
  now: Date,
): Promise<void> {
  const [namespaces, keys] = columnsOf(refs);
  await raw`with read as (
      select i.namespace, i.key from store_items i
      where i.workspace_id = ${workspaceId}
        and i.ttl_minutes is not null
        and (i.namespace, i.key) in (select * from unnest(${namespaces}::text[], ${keys}::text[]))
      for update skip locked
    )
    update store_items i
    set expires_at = ${now}::timestamptz + make_interval(secs => i.ttl_minutes * 60)
    from read
    where i.workspace_id = ${workspaceId} and i.namespace = read.namespace and i.key = read.key`.execute(sql);
}

/** $1 now */
export const expiredStatement: Statement = {
  name: "store_items_expired_v2",
  text: "select coalesce((select min(expires_at) from store_items) <= $1, false) as due",
};

export async function hasExpiredItems(database: Pick<Database, "background">, now: Date): Promise<boolean> {
  const [row] = await database.background<{ due: boolean }>(expiredStatement, [now]);
  return row!.due;
}

export async function deleteExpired(sql: Sql, now: Date, limit: number): Promise<number> {
  const { numAffectedRows } = await raw`delete from store_items where ctid = any(array(
      select ctid from store_items where expires_at <= ${now}
      order by expires_at limit ${limit} for update skip locked))`.execute(sql);
  return Number(numAffectedRows ?? 0);
}

function columnsOf(refs: readonly ItemRef[]): [string[], string[]] {
  return [refs.map((ref) => joinNamespace(ref.namespace)), refs.map((ref) => ref.key)];
}
