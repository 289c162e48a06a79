import type { Database, Sql } from "../db/database.ts";
import { raw } from "../db/raw.ts";
import type { BlobStore } from "./blob-store.ts";

/** Longer than anything takes to be made. */
const graceMs = 24 * 60 * 60_000;
const atOnce = 500;

/**
 * Keys of blobs that no row names: those that are being made, and those to be removed. A key is written down before its
 * blob is stored, and struck out by the transaction that makes the row; or it is written down by the transaction that
 * removes the row, and struck out when the blob is gone. So it is known what a process leaves that is killed in between.
 */
export async function announceBlob(sql: Sql, key: string): Promise<void> {
  await raw`insert into unclaimed_blobs (key) values (${key})
    on conflict (key) do update set since = now(), removing = false`.execute(sql);
}

/** False when it took so long that the blob may be gone. */
export async function claimBlob(tx: Sql, key: string): Promise<boolean> {
  const { rows } = await raw`
    delete from unclaimed_blobs where key = ${key} and not removing returning key`.execute(tx);
  return rows.length > 0;
}

/** From here on nobody can claim them. */
export async function giveUpBlobs(sql: Sql, keys: readonly string[]): Promise<void> {
  await raw`insert into unclaimed_blobs (key, removing) select unnest(${[...keys]}::text[]), true
    on conflict (key) do update set removing = true`.execute(sql);
}

/** Of keys that were given up. */
export async function removeGivenUp(
  { database, blobs }: { database: Pick<Database, "transaction">; blobs: BlobStore },
  keys: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  for (const key of keys) {
    signal?.throwIfAborted();
    await database.transaction(async (tx) => {
      // Whoever begins to make the same one again waits until it is gone.
      const { rows } = await raw`
        select 1 from unclaimed_blobs where key = ${key} and removing for update`.execute(tx);
      if (rows.length === 0) return;
      await blobs.remove(key);
      await raw`delete from unclaimed_blobs where key = ${key}`.execute(tx);
    });
  }
}

export type UnclaimedSweep = {
  database: Pick<Database, "transaction">;
  blobs: BlobStore;
  now: Date;
  /** Those of the keys that rows name all the same: two made the same blob, and one of them died. */
  named(tx: Sql, keys: readonly string[]): Promise<ReadonlySet<string>>;
};

/** Removes what was given up, and what nobody claimed for a day; returns how many there were. */
export async function sweepUnclaimed(sweep: UnclaimedSweep, signal: AbortSignal): Promise<number> {
  let removed = 0;
  for (;;) {
    const { seen, left } = await sweep.database.transaction((tx) => giveUpOld(tx, sweep));
    await removeGivenUp(sweep, left, signal);
    removed += left.length;
    if (seen < atOnce) return removed;
  }
}

/** From here on nobody can claim them; those that rows name are struck out instead. */
async function giveUpOld(tx: Sql, { now, named }: UnclaimedSweep): Promise<{ seen: number; left: string[] }> {
  const before = new Date(now.getTime() - graceMs);
  const { rows } = await raw<{ key: string }>`
    select key from unclaimed_blobs where removing or since < ${before} order by since limit ${atOnce}
    for update skip locked`.execute(tx);
  const keys = rows.map(({ key }) => key);
  const kept = await named(tx, keys);
  await raw`delete from unclaimed_blobs where key = any(${[...kept]}::text[])`.execute(tx);
  const left = keys.filter((key) => !kept.has(key));
  await raw`update unclaimed_blobs set removing = true where key = any(${left}::text[])`.execute(tx);
  return { seen: keys.length, left };
}
