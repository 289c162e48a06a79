import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertDeployment, insertRevision, insertWorkspace } from "../../../tests/support/deployment-rows.ts";
import type { BlobStore } from "../../platform/blob/blob-store.ts";
import { FolderBlobStore } from "../../platform/blob/folder-blob-store.ts";
import { platformFailure } from "../../platform/blob/platform-failure.ts";
import { announceBlob, claimBlob } from "../../platform/blob/unclaimed-blobs.ts";
import { raw } from "../../platform/db/raw.ts";
import { createLogger } from "../../platform/logger.ts";
import { artifactBlobKey } from "../builds/artifact-shelf.ts";
import { insertArtifact, listArtifactsOf, takeArtifact } from "../builds/artifact-store.ts";
import { type OwnWork, sourceBlobKey } from "../builds/pods/build-pod.ts";
import { insertBuildPod } from "../builds/pods/build-pod-store.ts";
import { uploadKey } from "../uploads/upload-service.ts";
import { completeUpload, insertUpload } from "../uploads/upload-store.ts";
import { maintain, purge } from "./maintenance.ts";

const workspaceId = randomUUID();
/** In two days. */
const now = new Date(Date.now() + 2 * 86_400_000);
let test: TestDatabase;
let temp: TempFolder;
let blobs: FolderBlobStore;
let root: string;
let deploymentId: string;
let number = 0;

beforeAll(async () => {
  [test, temp] = await Promise.all([createTestDatabase(), createTempFolder("sweep")]);
  await insertWorkspace(test.database.sql, workspaceId);
});
afterAll(async () => {
  await test?.drop();
  await temp?.remove();
});
beforeEach(async () => {
  root = join(temp.path, randomUUID());
  blobs = new FolderBlobStore(root);
  await raw`delete from deployments`.execute(test.database.sql);
  deploymentId = await insertDeployment(test.database.sql, workspaceId, "swept");
});

const run = (at: Date, store: BlobStore = blobs) =>
  maintain(
    {
      ...{ database: test.database, clock: { now: () => at }, logger: createLogger({ level: "silent" }) },
      ...{ folder: root, blobs: store, logs: { retentionDays: 7, maxLines: 1_000 } },
    },
    new AbortController().signal,
  );

const keyOf = (text: string) => text.padEnd(64, "0");

async function name(key: string, deployment = deploymentId): Promise<void> {
  number += 1;
  const row = { workspaceId, deploymentId: deployment, number, status: "DEPLOYED" };
  const id = await insertRevision(test.database.sql, row);
  await raw`update revisions set artifact_key = ${key} where id = ${id}`.execute(test.database.sql);
}

const blobId = randomUUID();
const blobKeyOf = (key: string) => artifactBlobKey({ key, blob_id: blobId });

function keepRow(key: string, at: Date, sql = test.database.sql): Promise<boolean> {
  const row = { key, workspace_id: workspaceId, path: "/nowhere", bytes: 1, uses_own_auth: false };
  return insertArtifact(sql, { ...row, sha256: "a", packed_bytes: 6, blob_id: blobId }, at);
}

it("frees uploads that nobody completed for a day", async () => {
  const keys = ["artifacts/cut.tar.zst", "pod-builds/revision/cut.tar.zst"];
  const begun = await Promise.all(keys.map((key) => blobs.beginUpload(key)));
  for (const upload of begun) await upload.addPart(Buffer.from("half"));
  expect(await readdir(join(root, ".parts"))).toHaveLength(2);
  await run(new Date());
  expect(await readdir(join(root, ".parts"))).toHaveLength(2);
  await run(now);
  expect(await readdir(join(root, ".parts"))).toEqual([]);
  for (const upload of begun) await upload.abort();
});

it("removes a build that was stored and that nothing ever named, after a day", async () => {
  const [left, kept] = ["1", "2"].map(keyOf) as [string, string];
  for (const key of [left, kept]) {
    await announceBlob(test.database.sql, blobKeyOf(key));
    await blobs.put(blobKeyOf(key), Buffer.from("packed"));
  }
  await test.database.transaction(async (tx) => {
    await claimBlob(tx, blobKeyOf(kept));
    await keepRow(kept, now, tx);
  });
  await run(new Date());
  expect(await blobs.list("artifacts/", { limit: 10 })).toHaveLength(2);
  await run(now);
  expect((await blobs.list("artifacts/", { limit: 10 })).map(({ key }) => key)).toEqual([blobKeyOf(kept)]);
});

it("keeps what a row names, though another announced the same and died", async () => {
  const { sql } = test.database;
  const kept = blobKeyOf(keyOf("6"));
  const path = `${deploymentId}/${randomUUID()}.tar.gz`;
  const expiresAt = new Date(now.getTime() + 3_600_000);
  await insertUpload(sql, { objectPath: path, deploymentId, workspaceId, tokenHash: "a", now, expiresAt });
  await completeUpload(sql, path, { sha256: "a", bytes: 6, attempt: 2 });
  await keepRow(keyOf("6"), now);
  // The first attempt at the upload has filled nothing.
  for (const key of [kept, uploadKey(path, 1), uploadKey(path, 2)]) {
    await announceBlob(sql, key);
    await blobs.put(key, Buffer.from("packed"));
  }
  await run(now);
  expect((await blobs.list("", { limit: 10 })).map(({ key }) => key)).toEqual([kept, uploadKey(path, 2)]);
  const { rows } = await raw`select key from unclaimed_blobs`.execute(sql);
  expect(rows).toEqual([]);
});

it("a purge leaves what another deployment finds at this moment", { timeout: 20_000 }, async () => {
  const { database } = test;
  const key = keyOf("7");
  await name(key);
  await keepRow(key, new Date(Date.now() - 3_600_000));
  await blobs.put(blobKeyOf(key), Buffer.from("packed"));
  const options = { database, folder: root, blobs, logger: createLogger({ level: "silent" }) };
  let purging: Promise<void> | undefined;
  await database.transaction(async (tx) => {
    await takeArtifact(tx, workspaceId, key, new Date());
    purging = purge(options, { id: deploymentId, database_name: `purged_${randomUUID().slice(0, 8)}` });
    await expect.poll(waitingForLocks, { timeout: 10_000 }).toBe(1);
  });
  await purging;
  expect(await blobs.head(blobKeyOf(key))).not.toBeNull();
  expect(await takeArtifact(database.sql, workspaceId, key, new Date())).toBeDefined();
});

it("a purge takes what a build in a pod left", async () => {
  const { database } = test;
  const revisionId = await insertRevision(database.sql, { workspaceId, deploymentId, number: 1 });
  const row = { id: randomUUID(), revisionId, tokenSealed: "", work: {} as OwnWork, now };
  await insertBuildPod(database.sql, row);
  const key = sourceBlobKey({ id: row.id, revision_id: revisionId });
  await blobs.put(key, Buffer.from("packed"));
  const options = { database, folder: root, blobs, logger: createLogger({ level: "silent" }) };
  await purge(options, { id: deploymentId, database_name: `purged_${randomUUID().slice(0, 8)}` });
  expect(await blobs.head(key)).toBeNull();
});

it("a purge takes what only this deployment names, with or without a row, and nothing asked for a moment ago", async () => {
  const second = await insertDeployment(test.database.sql, workspaceId, "second");
  for (const key of ["1", "2", "3", "4"]) await name(keyOf(key));
  await name(keyOf("4"), second);
  await keepRow(keyOf("2"), new Date(Date.now() - 3_600_000));
  await keepRow(keyOf("3"), new Date());
  expect((await listArtifactsOf(test.database.sql, deploymentId)).toSorted()).toEqual(["1", "2"].map(keyOf));
});

it("goes on where the bucket does not permit to list unfinished uploads", async () => {
  const key = blobKeyOf(keyOf("5"));
  await announceBlob(test.database.sql, key);
  await blobs.put(key, Buffer.from("packed"));
  class Restricted extends FolderBlobStore {
    override abortUploads(): Promise<number> {
      return Promise.reject(platformFailure("blob.no_permission", "Not permitted.", null));
    }
  }
  await run(now, new Restricted(root));
  expect(await blobs.head(key)).toBeNull();
});

async function waitingForLocks(): Promise<number> {
  const { rows } = await raw<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(test.database.sql);
  return rows[0]!.count;
}
