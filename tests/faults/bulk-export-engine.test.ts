import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { destinationContext } from "../../src/bulk-export/destinations/destination.ts";
import { defaultFileLimits } from "../../src/bulk-export/partitions/partition-task.ts";
import { startArea, stopArea } from "../../src/platform/areas/area.ts";
import { ClickHouse } from "../../src/platform/clickhouse/clickhouse.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { ClickHouseRunExportSource } from "../../src/traces/storage/clickhouse/export/clickhouse-run-export-source.ts";
import { migrateTables } from "../support/both-engines.ts";
import { type BulkExportApp, createBulkExportApp } from "../support/bulk-export-app.ts";
import type { ChildSettings } from "../support/bulk-export-child.ts";
import { type ClickHouse as Server, startClickHouse } from "../support/components/clickhouse.ts";
import { clickHouseStartLimitMs } from "../support/components/clickhouse-library.ts";
import { type ChildProcess, spawnProcess } from "../support/components/process.ts";
import { s3Request } from "../support/components/s3-request.ts";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { SwitchedSource, storeInClickHouse } from "../support/export-engines.ts";
import { createBucket, downloadExport, listKeys } from "../support/exported-files.ts";
import { manyRuns, type StoredRun } from "../support/exported-runs.ts";
import { type CephRgw, useCephRgw } from "../support/shared-ceph.ts";
import { startUnsteadyStorage } from "../support/unsteady-storage.ts";

// Leases have to run out, and the machine may have other things to do.
vi.setConfig({ testTimeout: 180_000 });

/** Exports whose files ClickHouse writes. */
const fileLimits = { ...defaultFileLimits, groupBytes: 262_144, fileBytes: 524_288 };
const leaseMs = 3_000;
const source = new SwitchedSource();
let rgw: CephRgw;
let storage: TcpProxy;
let app: BulkExportApp;
let server: Server;
let url: string;
let clickHouse: ClickHouse;
let child: ChildProcess | undefined;
let buckets = 0;

beforeAll(async () => {
  [rgw, server] = await Promise.all([useCephRgw(), startClickHouse()]);
  storage = await startTcpProxy({ target: rgw.endpoint });
  app = await createBulkExportApp({
    ...{ started: false, limits: { retries: 2, checkTimeoutMs: 60_000 } },
    area: { source, fileLimits, leaseMs },
  });
  url = await server.createDatabase();
  clickHouse = await ClickHouse.open({ url });
  await migrateTables(clickHouse);
  const { database, databaseUrl } = app;
  const asked = { byEngine: true, askEveryMs: 20 };
  source.use(new ClickHouseRunExportSource({ clickHouse, url, database, databaseUrl, ...asked }));
}, clickHouseStartLimitMs);
afterEach(async () => {
  await child?.kill();
  child = undefined;
  await storage.restore();
});
afterAll(async () => {
  await app?.stop();
  await clickHouse?.close();
  await server?.stop();
  await storage?.stop();
  await rgw?.stop();
});

const until = (what: string, check: () => Promise<boolean>) =>
  waitUntil(check, { what, timeoutMs: 120_000, intervalMs: 20 });

type Begun = { id: string; runs: StoredRun[]; bucket: string };

async function begin(
  endpoint = storage.urlFor(rgw.endpoint),
  before?: (bucket: string) => Promise<unknown>,
): Promise<Begun> {
  const bucket = `engine-${++buckets}`;
  await createBucket(rgw, bucket);
  const projectId = await app.newProject();
  const runs = manyRuns(1_000, "2026-05-05", "x".repeat(4_000));
  await storeInClickHouse(clickHouse, { workspaceId: app.workspaceId, projectId }, runs);
  const destinationId = await app.newDestination({ ...rgw, endpoint }, bucket);
  await before?.(bucket);
  const { id } = await app.newExport({
    bulk_export_destination_id: destinationId,
    session_id: projectId,
    start_time: "2026-05-05T00:00:00Z",
    end_time: "2026-05-06T00:00:00Z",
  });
  return { id, runs, bucket };
}

async function inThisProcess<T>(work: () => Promise<T>): Promise<T> {
  const other = app.another();
  await startArea(other);
  try {
    return await work();
  } finally {
    await stopArea(other, { graceMs: 0 });
  }
}

async function expectAllOnce({ id, runs, bucket }: Begun): Promise<void> {
  expect(await app.waitFor(id)).toMatchObject({ status: "COMPLETED", error: null });
  const files = await downloadExport(rgw, bucket, id);
  expect(files.keys.map((key) => key.split("/").at(-1))).toEqual(
    files.keys.map((_, index) => `part-${String(index).padStart(5, "0")}.parquet`),
  );
  expect(files.keys.length).toBeGreaterThan(4);
  expect((await files.readAgain()).map((row) => row.id)).toEqual(runs.map((run) => run.id));
  await files.remove();
}

type Process = { query_id: string; query: string };
const writing = () =>
  clickHouse.rows<Process>(
    "select query_id, query from system.processes where startsWith(query_id, 'treadle-export-')",
  );
const filesOf = async (id: string) => (await app.getExport(id)).progress.files_written;

type ListedRun = {
  percentage: number;
  metadata: { result: { rows_written: number; pending_upload: { rows_count: number } | null } };
};

/** Rows of its whole files, and of the one under way. */
async function partitionOf(id: string) {
  const { body } = await app.call("GET", `/api/v1/bulk-exports/${id}/runs`);
  const { metadata, percentage } = (body as ListedRun[])[0]!;
  const { rows_written: whole, pending_upload } = metadata.result;
  return { whole, percentage, pending: pending_upload?.rows_count ?? 0 };
}

test("a process killed in the middle: the next one goes on after the last file, with the same names", async () => {
  storage.delay(40);
  const begun = await begin();
  const settings: ChildSettings = {
    ...{ databaseUrl: app.databaseUrl, clickHouseUrl: url, secretKey: app.secretKey, fileLimits, leaseMs },
  };
  const script = fileURLToPath(new URL("../support/bulk-export-child.ts", import.meta.url));
  child = spawnProcess(process.execPath, [script, JSON.stringify(settings)], { name: "exporter" });
  await child.waitForLine("ready", 60_000);
  await until("two files", async () => (await filesOf(begun.id)) >= 2);
  await child.kill();
  expect((await app.getExport(begun.id)).status).toBe("RUNNING");
  const { whole } = await partitionOf(begun.id);
  storage.delay(100);
  await inThisProcess(async () => {
    let shown = await partitionOf(begun.id);
    await until("rows of the next file", async () => {
      shown = await partitionOf(begun.id);
      return shown.whole > whole && shown.pending > 0;
    });
    const { rows_written } = (await app.getExport(begun.id)).progress;
    expect(rows_written).toBeGreaterThanOrEqual(shown.whole + shown.pending);
    expect(rows_written).toBeLessThanOrEqual(begun.runs.length);
    await storage.restore();
    await expectAllOnce(begun);
  });
  expect((await app.getExport(begun.id)).progress).toMatchObject({ rows_written: 1_000, percentage: 100 });
  expect(await writing()).toEqual([]);
});

test("a cancelled export ends the engine's writing, and leaves no object; no secret is shown of it", async () => {
  const begun = await begin(undefined, async () => storage.blackHole());
  await inThisProcess(async () => {
    await until("writing", async () => (await writing()).length > 0);
    const [process] = await writing();
    expect(process!.query).toContain("s3(");
    expect(process!.query).not.toContain(rgw.secretKey);
    await until("rows of the file, alike in both places", async () => {
      const { pending, percentage } = await partitionOf(begun.id);
      const { progress } = await app.getExport(begun.id);
      return pending > 0 && progress.rows_written === pending && progress.percentage === percentage;
    });
    const { rows_written, files_written, percentage } = (await app.getExport(begun.id)).progress;
    expect(rows_written).toBeLessThan(begun.runs.length);
    expect([files_written, percentage > 0]).toEqual([0, true]);
    await app.call("PATCH", `/api/v1/bulk-exports/${begun.id}`, { body: { status: "Cancelled" } });
    await until("the end of writing", async () => (await writing()).length === 0);
  });
  // What it had sent was on its way for ever.
  storage.cut();
  await storage.restore();
  // Nothing of the file is there.
  expect(await app.getExport(begun.id)).toMatchObject({
    ...{ status: "CANCELLED", progress: { rows_written: 0, percentage: 0 } },
  });
  expect(await listKeys(rgw, begun.bucket, "export_id=")).toEqual([]);
});

test("a bucket that is gone fails the export at once, and says so", async () => {
  const begun = await begin(undefined, (bucket) =>
    s3Request({ ...rgw, method: "DELETE", path: `/${bucket}` }),
  );
  await inThisProcess(async () => {
    const ended = await app.waitFor(begun.id);
    expect(ended.status).toBe("FAILED");
    expect(ended.error).toContain(`bucket ${begun.bucket} does not exist`);
  });
  const { body } = await app.call("GET", `/api/v1/bulk-exports/${begun.id}/runs`);
  expect((body as { retry_number: number }[])[0]!.retry_number).toBe(0);
});

test("a key that is no longer valid fails the export at once, and says so", async () => {
  const begun = await begin(undefined, async () => {
    const { rows } = await raw<{ id: string }>`select id from bulk_export_destinations
      order by created_at desc limit 1`.execute(app.database.sql);
    const { id } = rows[0]!;
    const credentials = { access_key_id: rgw.accessKey, secret_access_key: "no longer" };
    const sealed = app.secretBox.seal(JSON.stringify(credentials), destinationContext(id));
    await raw`update bulk_export_destinations set credentials_sealed = ${sealed} where id = ${id}`.execute(
      app.database.sql,
    );
  });
  await inThisProcess(async () => {
    const ended = await app.waitFor(begun.id);
    expect(ended).toMatchObject({ status: "FAILED", error_code: "blob.bad_secret" });
    expect(ended.error).not.toContain("no longer");
  });
});

test("a storage that sends the engine elsewhere does not get it there", async () => {
  const elsewhere = await startUnsteadyStorage(rgw.endpoint);
  elsewhere.refuseWrites(1_000);
  const front = await startUnsteadyStorage(rgw.endpoint);
  front.redirectClients(/clickhouse/i, `${elsewhere.url}/hidden/place`);
  const begun = await begin(front.url);
  await inThisProcess(async () => expect((await app.waitFor(begun.id)).status).toBe("FAILED"));
  expect(front.refused()).toBeGreaterThan(0);
  expect(elsewhere.refused()).toBe(0);
  await front.stop();
  await elsewhere.stop();
});

test("a storage that only Treadle reaches is told with the setting that helps", async () => {
  const front = await startUnsteadyStorage(rgw.endpoint);
  front.refuseClients(/clickhouse/i);
  const begun = await begin(front.url);
  await inThisProcess(async () => {
    const ended = await app.waitFor(begun.id);
    expect(ended.status).toBe("FAILED");
    expect(ended.error).toContain("TREADLE_TRACES_EXPORT=treadle");
    expect(ended.error).not.toContain(rgw.secretKey);
  });
  expect(front.refused()).toBeGreaterThan(0);
  await front.stop();
});

test("a destination that the engine cannot write to as asked is written by Treadle", async () => {
  const bucket = `engine-${++buckets}`;
  await createBucket(rgw, bucket);
  const projectId = await app.newProject();
  const runs = manyRuns(500, "2026-05-05", "x".repeat(4_000));
  await storeInClickHouse(clickHouse, { workspaceId: app.workspaceId, projectId }, runs);
  // An engine would take the stars for a pattern.
  const prefix = "with * and ü";
  const destinationId = await app.newDestination(rgw, bucket, prefix);
  const { id } = await app.newExport({
    bulk_export_destination_id: destinationId,
    session_id: projectId,
    start_time: "2026-05-05T00:00:00Z",
    end_time: "2026-05-06T00:00:00Z",
  });
  await inThisProcess(async () => {
    expect(await app.waitFor(id)).toMatchObject({ status: "COMPLETED", error: null });
  });
  expect((await app.getExport(id)).progress.rows_written).toBe(500);
});
