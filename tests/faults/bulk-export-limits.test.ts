import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { defaultFileLimits } from "../../src/bulk-export/partitions/partition-task.ts";
import {
  type BulkExportApp,
  type BulkExportAppOptions,
  createBulkExportApp,
} from "../support/bulk-export-app.ts";
import type { CephRgw } from "../support/components/ceph-rgw.ts";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createBucket, downloadExport, listKeys, type S3Access } from "../support/exported-files.ts";
import { manyRuns, storeRuns } from "../support/exported-runs.ts";
import { useCephRgw } from "../support/shared-ceph.ts";
import { createTestClock } from "../support/workspaces-app.ts";

vi.setConfig({ testTimeout: 90_000 });

/** Small ones, so that a few thousand runs make many files. */
const fileLimits = { ...defaultFileLimits, pageBytes: 65_536, groupBytes: 262_144, fileBytes: 524_288 };
const day = "2026-05-05";
const hour = 3_600_000;
let rgw: CephRgw;
let proxy: TcpProxy;
let app: BulkExportApp;
beforeAll(async () => {
  rgw = await useCephRgw();
  proxy = await startTcpProxy({ target: rgw.endpoint });
}, 180_000);
afterEach(async () => {
  await proxy.restore();
  await app?.stop();
});
afterAll(async () => {
  await proxy?.stop();
  await rgw?.stop();
});

type PartitionAnswer = { status: string; retry_number: number; errors: Record<string, string> | null };
const partitionOf = async (id: string) =>
  ((await app.call("GET", `/api/v1/bulk-exports/${id}/runs`)).body as PartitionAnswer[])[0]!;
const filesOf = async (id: string) => (await app.getExport(id)).progress.files_written;

/** Runs of one day, and a destination behind the proxy. */
async function open(
  bucket: string,
  options: BulkExportAppOptions & { access?: S3Access } = {},
): Promise<{ access: S3Access; body: Record<string, unknown> }> {
  const access = options.access ?? rgw;
  app = await createBulkExportApp({ ...options, area: { fileLimits } });
  await createBucket(access, bucket);
  const endpoint = proxy.urlFor(rgw.endpoint);
  const projectId = await app.newProject();
  const place = { workspaceId: app.workspaceId, projectId };
  await storeRuns(app.database.sql, place, manyRuns(2_000, day, "x".repeat(2_000)));
  const body = {
    bulk_export_destination_id: await app.newDestination({ ...rgw, ...access, endpoint }, bucket),
    session_id: projectId,
    start_time: `${day}T00:00:00Z`,
    end_time: "2026-05-06T00:00:00Z",
  };
  return { access, body };
}

test("a bucket that is full fails the export at once and says so; with room made, a new one has everything", async () => {
  const user = await rgw.createUser();
  const { access, body } = await open("full", { access: { ...rgw, ...user } });
  await rgw.limitObjects(user.uid, 3);
  const { id } = await app.newExport(body);
  const ended = await app.waitFor(id);
  expect(ended.status).toBe("FAILED");
  expect(ended.error).toContain("no room left for the bucket full, or its quota is used up");
  expect(ended.error).toContain("raise the quota");
  expect(await partitionOf(id)).toMatchObject({ status: "FAILED", retry_number: 0 });
  // What counts as written is there, and nothing marks the export as complete.
  const kept = await listKeys(access, "full", "export_id=");
  expect(kept.length).toBe(ended.progress.files_written);
  expect(await listKeys(access, "full", "_manifests/")).toEqual([]);

  await rgw.limitObjects(user.uid, 1_000);
  const again = await app.newExport(body);
  expect(await app.waitFor(again.id)).toMatchObject({
    status: "COMPLETED",
    progress: { rows_written: 2_000 },
  });
  const files = await downloadExport(access, "full", again.id);
  const [row] = await files.query((all) => `select count(distinct id)::int as n from ${all}`);
  expect(row).toEqual({ n: 2_000 });
  await files.remove();
});

test("a partition that takes too long is tried again, and in the end is TIMEDOUT", async () => {
  const limits = { partitionTimeoutMs: 400, retries: 1, retryDelayMs: 50, storageTimeoutMs: 60_000 };
  const { body } = await open("slow-partition", { limits });
  proxy.blackHole();
  const { id } = await app.newExport(body);
  const ended = await app.waitFor(id);
  expect(ended).toMatchObject({ status: "FAILED", error_code: "bulk_export.run_timeout" });
  expect(ended.error).toContain("took longer than");
  const partition = await partitionOf(id);
  expect(partition).toMatchObject({ status: "TIMEDOUT", retry_number: 1 });
  expect(Object.keys(partition.errors!)).toEqual(["retry_0", "retry_1"]);
});

test("an export still writing after 72 hours is TIMEDOUT: the writing stops and no manifest appears", async () => {
  const clock = createTestClock(new Date("2026-06-01T00:00:00Z"));
  const { access, body } = await open("slow-export", { clock });
  proxy.delay(40);
  const { id } = await app.newExport(body);
  await waitUntil(async () => (await filesOf(id)) >= 1, { what: "a file", timeoutMs: 30_000 });
  clock.advance(72 * hour + 1);
  await app.area.tick();
  expect(await app.getExport(id)).toMatchObject({
    status: "TIMEDOUT",
    error: expect.stringContaining("within 72 hours"),
  });
  expect(await partitionOf(id)).toMatchObject({ status: "TIMEDOUT" });
  await waitUntil(() => proxy.openConnections() === 0, {
    what: "the connections to the storage to end",
    timeoutMs: 30_000,
  });
  const kept = await listKeys(access, "slow-export", "export_id=");
  await proxy.restore();
  // The one on its way may have arrived uncounted; none comes after it.
  expect(kept.length - (await filesOf(id))).toBeLessThanOrEqual(1);
  expect(await listKeys(access, "slow-export", "export_id=")).toEqual(kept);
  expect(await listKeys(access, "slow-export", "_manifests/")).toEqual([]);
});
