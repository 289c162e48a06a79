import { createHash, randomBytes, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { BlobPlace } from "../../src/platform/blob/blob-place.ts";
import type { BlobStore } from "../../src/platform/blob/blob-store.ts";
import { fetchToFile, removeAll, storeStream } from "../../src/platform/blob/blob-transfer.ts";
import { openBlobStore } from "../../src/platform/blob/open-blob-store.ts";
import { bucketPlace } from "../support/blob-place.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createBucket } from "../support/exported-files.ts";
import { type CephRgw, useCephRgw } from "../support/shared-ceph.ts";

const megabyte = 1024 * 1024;
const never = new AbortController().signal;
const text = async (store: BlobStore, key: string, range?: { start: number; bytes: number }) => {
  const found = await store.get(key, range ? { range } : {});
  return found === null ? null : (await buffer(found.stream)).toString();
};

let temp: TempFolder;
let rgw: CephRgw;
beforeAll(async () => {
  [temp, rgw] = await Promise.all([createTempFolder("blobs"), useCephRgw()]);
  await createBucket(rgw, "blobs");
}, 180_000);
afterAll(async () => {
  await rgw?.stop();
  await temp?.remove();
});

const places = {
  "a folder": (): BlobPlace => ({ kind: "folder", folder: join(temp.path, randomUUID()) }),
  "a bucket": (): BlobPlace => bucketPlace(rgw, "blobs", `${randomUUID()}/`),
};

describe.each(Object.entries(places))("%s", (kind, newPlace) => {
  let store: BlobStore;
  beforeEach(async () => {
    store = await openBlobStore(newPlace());
    return () => store.close();
  });

  test("keeps what it is given, replaces it, and forgets it", async () => {
    expect(await store.get("uploads/a/one.txt")).toBeNull();
    expect(await store.head("uploads/a/one.txt")).toBeNull();
    await store.put("uploads/a/one.txt", Buffer.from("first"));
    expect(await text(store, "uploads/a/one.txt")).toBe("first");
    await store.put("uploads/a/one.txt", Buffer.from("second one"));
    expect(await text(store, "uploads/a/one.txt")).toBe("second one");
    expect(await store.head("uploads/a/one.txt")).toMatchObject({ bytes: 10 });
    await store.remove("uploads/a/one.txt");
    await store.remove("uploads/a/one.txt");
    expect(await store.get("uploads/a/one.txt")).toBeNull();
    await store.put("uploads/a/empty", Buffer.alloc(0));
    expect(await text(store, "uploads/a/empty")).toBe("");
  });

  test("gives a part of it", async () => {
    await store.put("range", Buffer.from("0123456789"));
    const part = (start: number, bytes: number) => text(store, "range", { start, bytes });
    expect(await part(0, 3)).toBe("012");
    expect(await part(4, 2)).toBe("45");
    expect(await part(8, 100)).toBe("89");
    expect(await part(10, 5)).toBe("");
    expect(await part(3, 0)).toBe("");
    expect(await text(store, "nothing", { start: 0, bytes: 1 })).toBeNull();
    const found = await store.get("range", { range: { start: 8, bytes: 100 } });
    expect(found?.bytes).toBe(2);
    found?.stream.destroy();
  });

  test("lists in the order of the keys, page by page, below a prefix", async () => {
    const keys = ["logs/a.txt", "logs/a/1", "logs/a/2/x", "logs/a0", "logs/b/1", "other"];
    for (const key of keys.toReversed()) await store.put(key, Buffer.from(key));
    const list = async (prefix: string, after?: string, limit = 100) =>
      (await store.list(prefix, { after, limit })).map(({ key }) => key);
    expect(await list("")).toEqual(keys);
    expect(await list("logs/")).toEqual(keys.slice(0, 5));
    expect(await list("logs/a")).toEqual(keys.slice(0, 4));
    expect(await list("logs/a/")).toEqual(["logs/a/1", "logs/a/2/x"]);
    expect(await list("none/")).toEqual([]);
    const paged: string[] = [];
    for (let after: string | undefined; ; after = paged.at(-1)) {
      const page = await list("", after, 2);
      if (page.length === 0) break;
      paged.push(...page);
    }
    expect(paged).toEqual(keys);
    const [entry] = await store.list("logs/b/", { limit: 1 });
    expect(entry).toMatchObject({ key: "logs/b/1", bytes: 8 });
    expect(Math.abs(entry!.modifiedAt.getTime() - Date.now())).toBeLessThan(60_000);
    expect(await removeAll(store, "logs/a/")).toBe(2);
    expect(await list("logs/")).toEqual(["logs/a.txt", "logs/a0", "logs/b/1"]);
  });

  test("takes a large one in parts, and shows it only when it is whole", async () => {
    const parts = [randomBytes(8 * megabyte), randomBytes(8 * megabyte), randomBytes(100)];
    const upload = await store.beginUpload("artifacts/large");
    for (const part of parts) await upload.addPart(part);
    expect(await store.head("artifacts/large")).toBeNull();
    expect(await store.list("", { limit: 10 })).toEqual([]);
    await upload.complete();
    const found = await store.get("artifacts/large");
    expect((await buffer(found!.stream)).equals(Buffer.concat(parts))).toBe(true);
  });

  test("of an upload that is given up nothing stays, and an older object does", async () => {
    await store.put("artifacts/x", Buffer.from("older"));
    const upload = await store.beginUpload("artifacts/x");
    await upload.addPart(randomBytes(6 * megabyte));
    await upload.abort();
    await upload.abort();
    expect(await text(store, "artifacts/x")).toBe("older");
    const left = [await store.beginUpload("artifacts/left"), await store.beginUpload("uploads/left")];
    expect(await store.abortUploads("artifacts/", new Date(Date.now() - 60_000))).toBe(0);
    expect(await store.abortUploads("artifacts/", new Date(Date.now() + 60_000))).toBe(1);
    expect(await store.abortUploads("")).toBe(1);
    for (const upload of left) await upload.abort();
  });

  test("streams of any size are stored whole with their checksum, or not at all", async () => {
    for (const size of [0, 10, 8 * megabyte, 17 * megabyte + 3]) {
      const body = randomBytes(size);
      const pieces = Array.from({ length: Math.ceil(size / 700_001) }, (_, index) =>
        body.subarray(index * 700_001, (index + 1) * 700_001),
      );
      const stored = await storeStream(store, "stream", Readable.from(pieces));
      expect(stored).toEqual({ bytes: size, sha256: createHash("sha256").update(body).digest("hex") });
      const file = join(temp.path, `${kind}-${size}`);
      expect(await fetchToFile(store, "stream", { ...stored, file, signal: never })).toBe("fetched");
      expect((await readFile(file)).equals(body)).toBe(true);
    }
    const broken = Readable.from(
      (async function* () {
        yield randomBytes(9 * megabyte);
        throw new Error("cut off");
      })(),
    );
    await expect(storeStream(store, "torn", broken)).rejects.toThrow("cut off");
    expect(await store.head("torn")).toBeNull();
    expect(await store.abortUploads("")).toBe(0);
  });

  test("what is not what was stored is not taken", async () => {
    const stored = await storeStream(store, "x", Readable.from([Buffer.from("as it was")]));
    const file = join(temp.path, `${kind}-damaged`);
    const fetch = () => fetchToFile(store, "x", { ...stored, file, signal: never });
    for (const other of ["as it is ", "as it", "as it was, and more"]) {
      await store.put("x", Buffer.from(other));
      expect(await fetch()).toBe("damaged");
    }
    await store.remove("x");
    expect(await fetch()).toBe("missing");
    await store.put("x", Buffer.from("as it was"));
    expect(await fetch()).toBe("fetched");
  });

  test("a reading that is called off ends", async () => {
    await storeStream(store, "long", Readable.from([randomBytes(20 * megabyte)]));
    const stop = new AbortController();
    const found = await store.get("long", { signal: stop.signal });
    const reading = buffer(found!.stream);
    stop.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });

  test("an address without credentials, where there are such", async () => {
    await store.put("artifacts/a b+c.txt", Buffer.from("signed"));
    const url = await store.signedUrl("artifacts/a b+c.txt", 60);
    if (kind === "a folder") {
      expect(url).toBeNull();
      return;
    }
    const answer = await fetch(url!);
    expect([answer.status, await answer.text()]).toEqual([200, "signed"]);
    expect((await fetch(url!.replace("X-Amz-Signature=", "X-Amz-Signature=0"))).status).toBe(403);
    expect((await fetch(url!, { method: "DELETE" })).status).toBe(403);
  });
});

describe("a folder", () => {
  test("never leaves itself", async () => {
    const store = await openBlobStore(places["a folder"]());
    for (const key of ["../x", "a/../../x", "/etc/passwd", "a//b", "", "."]) {
      await expect(store.put(key, Buffer.from("x"))).rejects.toThrow("is no key of a blob");
      await expect(store.get(key)).rejects.toThrow("is no key of a blob");
    }
  });

  test("names itself when it cannot be used", async () => {
    const folder = join(temp.path, "a-file");
    await writeFile(folder, "");
    const store = await openBlobStore({ kind: "folder", folder });
    await expect(store.put("x", Buffer.from("x"))).rejects.toMatchObject({
      code: "blob.refused",
      kind: "unavailable",
      message: expect.not.stringContaining(folder),
      detail: { storage: expect.stringContaining(folder) },
    });
  });

  test("has files that only its owner reads, and no empty folders of what is gone", async () => {
    const place = places["a folder"]();
    const { folder } = place as { folder: string };
    await mkdir(folder);
    const store = await openBlobStore(place);
    await store.put("logs/one/1/x", Buffer.from("x"));
    await store.remove("logs/one/1/x");
    expect(await readdir(join(folder, "logs", "one"))).toEqual([]);
    expect(await readdir(join(folder, ".parts"))).toEqual([]);
  });
});
