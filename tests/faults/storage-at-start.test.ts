import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Lifecycle } from "../../src/app/lifecycle.ts";
import { openBlobs } from "../../src/app/open-blobs.ts";
import { checkStorage } from "../../src/cli/commands/doctor/check-storage.ts";
import { readConfig } from "../../src/config/index.ts";
import { BlobHealth } from "../../src/platform/blob/blob-health.ts";
import { openBlobStore } from "../../src/platform/blob/open-blob-store.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { bucketSettings } from "../support/blob-place.ts";
import { freePort } from "../support/components/free-port.ts";
import { createBucket } from "../support/exported-files.ts";
import { type CephRgw, useCephRgw } from "../support/shared-ceph.ts";

const logger = createLogger({ level: "silent" });
let rgw: CephRgw;
let right: Record<string, string>;
beforeAll(async () => {
  rgw = await useCephRgw();
  await createBucket(rgw, "storage");
  right = bucketSettings(rgw, "storage", "here");
}, 180_000);
afterAll(() => rgw?.stop());

const configWith = (more: Record<string, string>) => readConfig({ ...right, ...more });

async function open(more: Record<string, string> = {}) {
  const life = new Lifecycle();
  try {
    return await openBlobs(configWith(more).blobs, { logger, life });
  } finally {
    await life.stop({ graceMs: 0, leaveMs: 0 });
  }
}

test("a storage that can be used is used, and nothing stays of the check", async () => {
  expect((await open()).notes).toEqual([]);
  expect(await checkStorage(configWith({}))).toMatchObject({
    status: "ok",
    message: expect.stringContaining("s3://storage/here/"),
  });
  const store = await openBlobStore(configWith({}).blobs.place);
  expect(await store.list("", { limit: 10 })).toEqual([]);
  expect(await new BlobHealth(store).problem()).toBeNull();
  store.close();
});

describe("a wrong setting ends the start, with its name", () => {
  test.each([
    [{ TREADLE_BLOB_URL: "s3://nowhere" }, "blob.no_bucket", "TREADLE_BLOB_URL"],
    [{ TREADLE_BLOB_ACCESS_KEY_ID: "unknown" }, "blob.unknown_key", "TREADLE_BLOB_ACCESS_KEY_ID"],
    [{ TREADLE_BLOB_SECRET_ACCESS_KEY: "wrong" }, "blob.bad_secret", "TREADLE_BLOB_SECRET_ACCESS_KEY"],
    [{ TREADLE_BLOB_URL: "file:///etc/passwd/none" }, "blob.refused", "/etc/passwd/none"],
  ])("%o", async (more, code, name) => {
    const error = expect.objectContaining({
      code: expect.stringContaining(code),
      message: expect.stringContaining(name),
    });
    await expect(open(more)).rejects.toEqual(error);
    await expect(checkStorage(configWith(more))).rejects.toEqual(error);
  });
});

test("a storage that is away does not, and is named", async () => {
  const away = { TREADLE_BLOB_ENDPOINT_URL: `http://127.0.0.1:${await freePort()}` };
  const { notes } = await open(away);
  expect(notes).toEqual([expect.stringMatching(/have to wait: .*TREADLE_BLOB_ENDPOINT_URL/)]);
  const store = await openBlobStore(configWith(away).blobs.place);
  expect(await new BlobHealth(store).problem()).toBe("blob.unreachable");
  store.close();
  await expect(checkStorage(configWith(away))).rejects.toThrow("cannot be reached");
});
