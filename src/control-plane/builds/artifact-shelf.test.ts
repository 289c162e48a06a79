import { randomUUID } from "node:crypto";
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { bucketPlace } from "../../../tests/support/blob-place.ts";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import type { BlobStore } from "../../platform/blob/blob-store.ts";
import { FolderBlobStore } from "../../platform/blob/folder-blob-store.ts";
import { openBlobStore } from "../../platform/blob/open-blob-store.ts";
import { giveUpBlobs, removeGivenUp } from "../../platform/blob/unclaimed-blobs.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { ArtifactShelf, artifactBlobKey } from "./artifact-shelf.ts";
import { listStoredArtifacts } from "./artifact-store.ts";

/** A port without a listener. */
const nowhere = { endpoint: "http://127.0.0.1:9", region: "us-east-1", accessKey: "a", secretKey: "b" };
const never = new AbortController().signal;
const workspaceId = randomUUID();
const keyOf = (digit: number) => String(digit).repeat(64);
let base: TestDatabase;
let temp: TempFolder;
let blobs: BlobStore;
let blobFolder: string;
beforeAll(async () => {
  [base, temp] = await Promise.all([createTestDatabase(), createTempFolder("shelf")]);
});
afterAll(async () => {
  await base?.drop();
  await temp?.remove();
});
beforeEach(async () => {
  await raw`delete from build_artifacts`.execute(base.database.sql);
  blobFolder = join(temp.path, randomUUID());
  blobs = new FolderBlobStore(blobFolder);
});

/** A machine with a folder of its own. */
function machine(shared: BlobStore | null = blobs) {
  const folder = join(temp.path, randomUUID());
  const options = { folder, database: base.database, clock: systemClock, maxBytes: 1e9 };
  return { folder, shelf: new ArtifactShelf({ ...options, blobs: shared }) };
}

async function tree(): Promise<string> {
  const folder = join(temp.path, randomUUID());
  await mkdir(join(folder, "node_modules", ".bin"), { recursive: true });
  await writeFile(join(folder, "langgraph.json"), "{}");
  await writeFile(join(folder, "run.sh"), "#!/bin/sh\n");
  await chmod(join(folder, "run.sh"), 0o755);
  await symlink("../../run.sh", join(folder, "node_modules", ".bin", "run"));
  await symlink("/usr/bin/python3", join(folder, "python"));
  return folder;
}

/** Of the blob that its row names. */
async function blobKeyOf(key: string): Promise<string> {
  const [row] = await listStoredArtifacts(base.database.sql, [key]);
  return artifactBlobKey(row!);
}

const built = (key: string) => ({ key, bytes: 100, uses_own_auth: false, workspaceId: null as never });

test("what one machine built another has byte for byte, with its modes and links", async () => {
  const [first, second] = [machine(), machine()];
  await first.shelf.keep(await tree(), built(keyOf(1)));
  const found = await second.shelf.find(workspaceId, keyOf(1), never);
  expect(found?.path).toBe(join(second.folder, keyOf(1)));
  const file = (...path: string[]) => join(found!.path, ...path);
  expect(await readFile(file("langgraph.json"), "utf8")).toBe("{}");
  expect((await stat(file("run.sh"))).mode & 0o777).toBe(0o755);
  expect(await readlink(file("node_modules", ".bin", "run"))).toBe("../../run.sh");
  expect(await readlink(file("python"))).toBe("/usr/bin/python3");
  expect(await readdir(second.folder)).toEqual([keyOf(1)]);
});

test("alone nothing is packed, and the folder is all there is", async () => {
  const { shelf } = machine(null);
  const path = await shelf.keep(await tree(), built(keyOf(2)));
  expect(await blobs.list("", { limit: 1 })).toEqual([]);
  expect((await shelf.find(workspaceId, keyOf(2), never))?.path).toBe(path);
  await rm(path, { recursive: true });
  expect(await shelf.find(workspaceId, keyOf(2), never)).toBeUndefined();
});

test("one that is damaged or gone in the storage is forgotten, and built again", async () => {
  for (const spoil of [
    async () => blobs.put(await blobKeyOf(keyOf(3)), Buffer.from("something else")),
    async () => blobs.remove(await blobKeyOf(keyOf(3))),
  ]) {
    const [first, second] = [machine(), machine()];
    await first.shelf.keep(await tree(), built(keyOf(3)));
    await spoil();
    expect(await second.shelf.find(workspaceId, keyOf(3), never)).toBeUndefined();
    expect(await readdir(second.folder)).toEqual([]);
    await first.shelf.keep(await tree(), built(keyOf(3)));
    expect(await second.shelf.find(workspaceId, keyOf(3), never)).toBeDefined();
  }
});

test("a storage that is away is no reason to forget", async () => {
  await machine().shelf.keep(await tree(), built(keyOf(4)));
  const away = await openBlobStore({ ...bucketPlace(nowhere, "none"), prefix: "" });
  await expect(machine(away).shelf.find(workspaceId, keyOf(4), never)).rejects.toMatchObject({
    code: "blob.unreachable",
    retryable: true,
  });
  away.close();
  expect(await machine().shelf.find(workspaceId, keyOf(4), never)).toBeDefined();
});

test("what was built alone is stored once it is shared", async () => {
  const { folder, shelf } = machine(null);
  await shelf.keep(await tree(), built(keyOf(5)));
  const options = { folder, database: base.database, clock: systemClock, maxBytes: 1e9 };
  const shared = new ArtifactShelf({ ...options, blobs });
  expect(await shared.find(workspaceId, keyOf(5), never)).toBeDefined();
  expect(await machine().shelf.find(workspaceId, keyOf(5), never)).toBeDefined();
});

test("only what is not here is waited for", async () => {
  const [first, second] = [machine(), machine()];
  await first.shelf.keep(await tree(), built(keyOf(6)));
  const waits: string[] = [];
  const ask = (name: string, { shelf }: typeof first) =>
    shelf.find(workspaceId, keyOf(6), never, async () => void waits.push(name));
  await ask("first", first);
  await Promise.all([ask("second", second), ask("second again", second)]);
  expect(waits).toEqual(["second"]);
});

test("what is too much goes from this machine, and comes again when it is asked for", async () => {
  const folder = join(temp.path, randomUUID());
  const options = { folder, database: base.database, clock: systemClock, blobs };
  const small = new ArtifactShelf({ ...options, maxBytes: 150 });
  const path = await small.keep(await tree(), built(keyOf(7)));
  const old = new Date(Date.now() - 3_600_000);
  await utimes(path, old, old);
  await small.keep(await tree(), built(keyOf(8)));
  expect(await readdir(folder)).toEqual([keyOf(8)]);
  expect((await small.find(workspaceId, keyOf(7), never))?.path).toBe(path);
  expect((await readdir(folder)).toSorted()).toEqual([keyOf(7), keyOf(8)]);
});

test("what another server built alone stays known, and is not found here", async () => {
  const { shelf } = machine(null);
  const path = await shelf.keep(await tree(), built(keyOf(9)));
  // This machine has nothing there.
  await rename(path, `${path}-elsewhere`);
  expect(await machine().shelf.find(workspaceId, keyOf(9), never)).toBeUndefined();
  await rename(`${path}-elsewhere`, path);
  expect((await shelf.find(workspaceId, keyOf(9), never))?.path).toBe(path);
});

test("what was made long ago counts from when it came here", async () => {
  const old = new Date(Date.now() - 3_600_000);
  const made = await tree();
  await utimes(made, old, old);
  const [first, second] = [machine(), machine()];
  const path = await first.shelf.keep(made, built(keyOf(1)));
  expect((await stat(path)).mtimeMs).toBeGreaterThan(Date.now() - 60_000);
  const found = await second.shelf.find(workspaceId, keyOf(1), never);
  expect((await stat(found!.path)).mtimeMs).toBeGreaterThan(Date.now() - 60_000);
});

test("one that was stored again meanwhile is not forgotten", async () => {
  const { shelf } = machine();
  await shelf.keep(await tree(), built(keyOf(2)));
  const seen = await shelf.find(workspaceId, keyOf(2), never);
  await raw`update build_artifacts set sha256 = 'another' where key = ${keyOf(2)}`.execute(base.database.sql);
  await shelf.remove(seen!);
  expect(await blobs.head(await blobKeyOf(keyOf(2)))).not.toBeNull();
  const { rows } = await raw`select key from build_artifacts`.execute(base.database.sql);
  expect(rows).toEqual([{ key: keyOf(2) }]);
});

test("of two that build the same with other bytes, the first is what everybody gets, and the second leaves nothing", async () => {
  const other = await tree();
  await writeFile(join(other, "langgraph.json"), '{"built": "a moment later"}');
  const [first, second, third] = [machine(), machine(), machine()];
  // The first one's blob is stored, and its row made, while the second one's is on its way.
  class Between extends FolderBlobStore {
    override async put(key: string, body: Buffer): Promise<void> {
      await super.put(key, body);
      await first.shelf.keep(await tree(), built(keyOf(5)));
    }
  }
  const slow = new ArtifactShelf({
    ...{ folder: second.folder, database: base.database, clock: systemClock, maxBytes: 1e9 },
    blobs: new Between(blobFolder),
  });
  await slow.keep(other, built(keyOf(5)));
  const found = await third.shelf.find(workspaceId, keyOf(5), never);
  expect(await readFile(join(found!.path, "langgraph.json"), "utf8")).toBe("{}");
  expect((await blobs.list("", { limit: 10 })).map(({ key }) => key)).toEqual([await blobKeyOf(keyOf(5))]);
  const { rows } = await raw`select key from unclaimed_blobs`.execute(base.database.sql);
  expect(rows).toEqual([]);
});

test("what an earlier version stored is found where that put it, and forgotten with its blob", async () => {
  const first = machine();
  await first.shelf.keep(await tree(), built(keyOf(6)));
  const old = artifactBlobKey({ key: keyOf(6), blob_id: null });
  const kept = await blobs.get(await blobKeyOf(keyOf(6)));
  await blobs.put(old, await buffer(kept!.stream));
  await raw`update build_artifacts set blob_id = null`.execute(base.database.sql);
  const { shelf } = machine();
  const found = await shelf.find(workspaceId, keyOf(6), never);
  expect(await readFile(join(found!.path, "langgraph.json"), "utf8")).toBe("{}");
  await shelf.remove(found!);
  expect(await blobs.head(old)).toBeNull();
});

test("what was taken away before its row was made is stored again", async () => {
  const { database } = base;
  class Swept extends FolderBlobStore {
    stored = 0;
    override async put(key: string, body: Buffer): Promise<void> {
      await super.put(key, body);
      this.stored += 1;
      if (this.stored > 1) return;
      await giveUpBlobs(database.sql, [key]);
      await removeGivenUp({ database, blobs: this }, [key]);
    }
  }
  const swept = new Swept(join(temp.path, randomUUID()));
  await machine(swept).shelf.keep(await tree(), built(keyOf(4)));
  expect(swept.stored).toBe(2);
  expect(await machine(swept).shelf.find(workspaceId, keyOf(4), never)).toBeDefined();
});
