import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { defaultFileLimits } from "../../src/bulk-export/partitions/partition-task.ts";
import { type BulkExportApp, createBulkExportApp, type ExportAnswer } from "../support/bulk-export-app.ts";
import type { CephRgw } from "../support/components/ceph-rgw.ts";
import { s3Request } from "../support/components/s3-request.ts";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createBucket, deleteObject, downloadExport, listKeys } from "../support/exported-files.ts";
import { manyRuns, type StoredRun, storeRuns } from "../support/exported-runs.ts";
import { useCephRgw } from "../support/shared-ceph.ts";
import { startUnsteadyStorage } from "../support/unsteady-storage.ts";

// Storages are waited for, and so is a machine with other things to do.
vi.setConfig({ testTimeout: 90_000 });

/** Small ones, so that a few thousand runs make many files. */
const fileLimits = { ...defaultFileLimits, pageBytes: 65_536, groupBytes: 262_144, fileBytes: 524_288 };
let rgw: CephRgw;
let proxy: TcpProxy;
let app: BulkExportApp;
beforeAll(async () => {
  const limits = { storageTimeoutMs: 1_500, retries: 20 };
  [rgw, app] = await Promise.all([useCephRgw(), createBulkExportApp({ limits, area: { fileLimits } })]);
  proxy = await startTcpProxy({ target: rgw.endpoint });
}, 180_000);
afterEach(() => proxy.restore());
afterAll(async () => {
  await app?.stop();
  await proxy?.stop();
  await rgw?.stop();
});

type Begun = { id: string; runs: StoredRun[]; bucket: string; access: typeof rgw };
let buckets = 0;

/** An export of many files, on its way through the proxy, slowed down so that it can be disturbed. */
async function begin(options: { endpoint?: string; access?: typeof rgw } = {}): Promise<Begun> {
  const bucket = `faults-${++buckets}`;
  const access = options.access ?? rgw;
  await createBucket(access, bucket);
  const endpoint = options.endpoint ?? proxy.urlFor(rgw.endpoint);
  const destinationId = await app.newDestination({ ...access, endpoint }, bucket);
  const projectId = await app.newProject();
  const runs = manyRuns(2_000, "2026-05-05", "x".repeat(2_000));
  await storeRuns(app.database.sql, { workspaceId: app.workspaceId, projectId }, runs);
  proxy.delay(40);
  const { id } = await app.newExport({
    bulk_export_destination_id: destinationId,
    session_id: projectId,
    start_time: "2026-05-05T00:00:00Z",
    end_time: "2026-05-06T00:00:00Z",
  });
  return { id, runs, bucket, access };
}

const until = (check: () => Promise<boolean> | boolean, what: string) =>
  waitUntil(check, { what, timeoutMs: 30_000, intervalMs: 20 });

const filesOf = async (id: string) => (await app.getExport(id)).progress.files_written;
type PartitionAnswer = { status: string; retry_number: number; errors: Record<string, string> | null };
const partitionsOf = async (id: string) =>
  (await app.call("GET", `/api/v1/bulk-exports/${id}/runs`)).body as PartitionAnswer[];

async function expectAllOnce({ id, runs, bucket, access }: Begun): Promise<void> {
  const files = await downloadExport(access, bucket, id);
  expect(files.keys.map((key) => key.split("/").at(-1))).toEqual(
    files.keys.map((_, index) => `part-${String(index).padStart(5, "0")}.parquet`),
  );
  expect(files.keys.length).toBeGreaterThan(4);
  const read = (await files.readAgain()).map((row) => [row.id, row.inputs]);
  expect(read).toEqual(runs.map((run) => [run.id, run.inputs]));
  await files.remove();
}

test("a storage that falls silent is asked again, and nothing is lost or written twice", async () => {
  const begun = await begin();
  await until(async () => (await filesOf(begun.id)) >= 2, "two files");
  proxy.blackHole();
  await until(async () => (await partitionsOf(begun.id))[0]!.retry_number >= 1, "a retry");
  await proxy.restore();
  expect(await app.waitFor(begun.id)).toMatchObject({ status: "COMPLETED" });
  const [partition] = await partitionsOf(begun.id);
  expect(partition!.errors!.retry_0).toContain("cannot be reached");
  await expectAllOnce(begun);
});

test("a gateway that crashes and comes back is waited for", async () => {
  const begun = await begin();
  await until(async () => (await filesOf(begun.id)) >= 2, "two files");
  await rgw.killGateway();
  await until(async () => (await partitionsOf(begun.id))[0]!.retry_number >= 1, "a retry");
  await rgw.startGateway();
  expect(await app.waitFor(begun.id)).toMatchObject({ status: "COMPLETED" });
  await expectAllOnce(begun);
});

test("a storage that answers 503 is asked again", async () => {
  const storage = await startUnsteadyStorage(rgw.endpoint);
  const begun = await begin({ endpoint: storage.url });
  await until(async () => (await filesOf(begun.id)) >= 1, "a file");
  storage.refuseWrites(7);
  expect(await app.waitFor(begun.id)).toMatchObject({ status: "COMPLETED" });
  expect(storage.refused()).toBe(7);
  expect((await partitionsOf(begun.id))[0]!.retry_number).toBeGreaterThanOrEqual(1);
  await expectAllOnce(begun);
  await storage.stop();
});

test("a bucket removed midway fails the export at once, and says so", async () => {
  const begun = await begin();
  await until(async () => (await filesOf(begun.id)) >= 1, "a file");
  const gone = async () => {
    for (const key of await listKeys(rgw, begun.bucket)) await deleteObject(rgw, begun.bucket, key);
    return (await s3Request({ ...rgw, method: "DELETE", path: `/${begun.bucket}` })).status === 204;
  };
  await until(gone, "the bucket to be gone");
  const ended = await app.waitFor(begun.id);
  expect(ended.status).toBe("FAILED");
  expect(ended.error).toContain(`bucket ${begun.bucket} does not exist`);
  // A part cut off by the removal itself may be tried once more; a missing bucket is not.
  const [partition] = await partitionsOf(begun.id);
  expect(partition).toMatchObject({ status: "FAILED" });
  expect(partition!.retry_number).toBeLessThanOrEqual(1);
});

describe("credentials", () => {
  const accessOf = (user: { accessKey: string; secretKey: string }) => ({ ...rgw, ...user });

  test("rotated midway: the partition under way keeps the old ones and completes", async () => {
    const access = accessOf(await rgw.createUser());
    const begun = await begin({ access });
    await until(async () => (await filesOf(begun.id)) >= 1, "a file");
    const { body } = await app.call("GET", `/api/v1/bulk-exports/${begun.id}`);
    const { bulk_export_destination_id: id } = body as { bulk_export_destination_id: string };
    const credentials = { access_key_id: access.accessKey, secret_access_key: access.secretKey };
    const rotated = await app.call("PATCH", `/api/v1/bulk-exports/destinations/${id}`, {
      body: { credentials },
    });
    expect(rotated.status).toBe(200);
    expect(await app.waitFor(begun.id)).toMatchObject({ status: "COMPLETED" });
    await expectAllOnce(begun);
  });

  test("taken away midway: the export fails at once, and says so", async () => {
    const user = await rgw.createUser();
    const begun = await begin({ access: accessOf(user) });
    await until(async () => (await filesOf(begun.id)) >= 1, "a file");
    await rgw.suspendUser(user.uid);
    const ended = await app.waitFor(begun.id);
    expect(ended).toMatchObject({ status: "FAILED", error_code: "blob.no_permission" });
    expect(ended.error).toContain("no permission");
    expect((await partitionsOf(begun.id))[0]).toMatchObject({ status: "FAILED", retry_number: 0 });
  });
});

test("cancelling stops the writing, and no file appears afterwards", async () => {
  const begun = await begin();
  await until(async () => (await filesOf(begun.id)) >= 1, "a file");
  const answer = await app.call("PATCH", `/api/v1/bulk-exports/${begun.id}`, {
    body: { status: "Cancelled" },
  });
  expect((answer.body as ExportAnswer).status).toBe("CANCELLED");
  await until(() => proxy.openConnections() === 0, "the connections to the storage to end");
  const kept = await listKeys(rgw, begun.bucket, "export_id=");
  await proxy.restore();
  expect((await partitionsOf(begun.id))[0]).toMatchObject({ status: "CANCELLED" });
  expect(await listKeys(rgw, begun.bucket, "export_id=")).toEqual(kept);
  expect(await listKeys(rgw, begun.bucket, "_manifests/")).toEqual([]);
});

test("retries that are used up fail the export, each with its reason", async () => {
  const bounded = await createBulkExportApp({
    limits: { retries: 2, retryDelayMs: 50, storageTimeoutMs: 1_000 },
  });
  await createBucket(rgw, "bounded");
  const destinationId = await bounded.newDestination(
    { ...rgw, endpoint: proxy.urlFor(rgw.endpoint) },
    "bounded",
  );
  const projectId = await bounded.newProject();
  const place = { workspaceId: bounded.workspaceId, projectId };
  await storeRuns(bounded.database.sql, place, manyRuns(3, "2026-05-05"));
  await proxy.refuse();
  const { id } = await bounded.newExport({
    bulk_export_destination_id: destinationId,
    session_id: projectId,
    start_time: "2026-05-05T00:00:00Z",
    end_time: "2026-05-06T00:00:00Z",
  });
  expect(await bounded.waitFor(id)).toMatchObject({
    status: "FAILED",
    error: expect.stringContaining("cannot be reached"),
  });
  const { body } = await bounded.call("GET", `/api/v1/bulk-exports/${id}/runs`);
  const [partition] = body as PartitionAnswer[];
  expect(partition).toMatchObject({ status: "FAILED", retry_number: 2 });
  expect(Object.keys(partition!.errors!)).toEqual(["retry_0", "retry_1", "retry_2"]);
  await bounded.stop();
});
