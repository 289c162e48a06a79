import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { raw } from "../db/raw.ts";
import { FolderBlobStore } from "./folder-blob-store.ts";
import { announceBlob, claimBlob, giveUpBlobs, removeGivenUp, sweepUnclaimed } from "./unclaimed-blobs.ts";

const never = new AbortController().signal;
let test: TestDatabase;
let temp: TempFolder;
let blobs: FolderBlobStore;
beforeAll(async () => {
  [test, temp] = await Promise.all([createTestDatabase(), createTempFolder("unclaimed")]);
});
afterAll(async () => {
  await test?.drop();
  await temp?.remove();
});
beforeEach(async () => {
  blobs = new FolderBlobStore(join(temp.path, randomUUID()));
  await raw`delete from unclaimed_blobs`.execute(test.database.sql);
});

async function make(key: string): Promise<void> {
  await announceBlob(test.database.sql, key);
  await blobs.put(key, Buffer.from(key));
}
const sweep = (afterMs = 0, named: string[] = []) => {
  const now = new Date(Date.now() + afterMs);
  const given = async (_tx: unknown, keys: readonly string[]) =>
    new Set(keys.filter((key) => named.includes(key)));
  return sweepUnclaimed({ database: test.database, blobs, now, named: given }, never);
};
const keys = async () => (await blobs.list("", { limit: 10 })).map(({ key }) => key);

it("what is claimed stays, what is not goes after a day, and not before", async () => {
  await make("a/claimed");
  await make("a/left");
  expect(await claimBlob(test.database.sql, "a/claimed")).toBe(true);
  expect(await sweep()).toBe(0);
  expect(await keys()).toEqual(["a/claimed", "a/left"]);
  expect(await sweep(90_000_000)).toBe(1);
  expect(await keys()).toEqual(["a/claimed"]);
  expect(await claimBlob(test.database.sql, "a/left")).toBe(false);
});

it("what is given up cannot be claimed any more, and goes with the next sweep", async () => {
  await make("a/one");
  await make("a/two");
  await giveUpBlobs(test.database.sql, ["a/one", "a/two", "a/never-there"]);
  expect(await claimBlob(test.database.sql, "a/one")).toBe(false);
  await removeGivenUp({ database: test.database, blobs }, ["a/one"]);
  expect(await keys()).toEqual(["a/two"]);
  expect(await sweep()).toBe(2);
  expect(await keys()).toEqual([]);
  expect(await sweep()).toBe(0);
});

it("what a row names stays, whoever announced it again and died", async () => {
  await make("a/named");
  await make("a/left");
  expect(await sweep(90_000_000, ["a/named"])).toBe(1);
  expect(await keys()).toEqual(["a/named"]);
  // Struck out: it is asked about once.
  expect(await sweep(90_000_000)).toBe(0);
  expect(await keys()).toEqual(["a/named"]);
});

it("what is made again while it is removed is stored afterwards", { timeout: 20_000 }, async () => {
  const [entered, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  class Slow extends FolderBlobStore {
    override async remove(key: string): Promise<void> {
      entered.resolve();
      await released.promise;
      await super.remove(key);
    }
  }
  const root = join(temp.path, randomUUID());
  blobs = new Slow(root);
  await make("a/again");
  await giveUpBlobs(test.database.sql, ["a/again"]);
  const removing = removeGivenUp({ database: test.database, blobs }, ["a/again"]);
  await entered.promise;
  const making = make("a/again");
  await expect.poll(waitingForLocks, { timeout: 10_000 }).toBe(1);
  released.resolve();
  await Promise.all([removing, making]);
  expect(await keys()).toEqual(["a/again"]);
  expect(await claimBlob(test.database.sql, "a/again")).toBe(true);
});

async function waitingForLocks(): Promise<number> {
  const { rows } = await raw<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(test.database.sql);
  return rows[0]!.count;
}
