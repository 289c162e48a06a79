import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { defaultFileLimits } from "../../src/bulk-export/partitions/partition-task.ts";
import { startArea, stopArea } from "../../src/platform/areas/area.ts";
import type { Sql } from "../../src/platform/db/database.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { type BulkExportApp, createBulkExportApp } from "../support/bulk-export-app.ts";
import type { ChildSettings } from "../support/bulk-export-child.ts";
import type { CephRgw } from "../support/components/ceph-rgw.ts";
import { type ChildProcess, spawnProcess } from "../support/components/process.ts";
import { s3Request } from "../support/components/s3-request.ts";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createBucket, downloadExport } from "../support/exported-files.ts";
import { manyRuns, type StoredRun, storeRuns } from "../support/exported-runs.ts";
import { useCephRgw } from "../support/shared-ceph.ts";

// Leases have to run out, and the machine may have other things to do.
vi.setConfig({ testTimeout: 90_000 });

const fileLimits = { ...defaultFileLimits, pageBytes: 65_536, groupBytes: 262_144, fileBytes: 524_288 };
const leaseMs = 3_000;
const bucket = "killed";
let rgw: CephRgw;
let storage: TcpProxy;
let databaseProxy: TcpProxy;
let app: BulkExportApp;
let destinationId: string;
let child: ChildProcess | undefined;

beforeAll(async () => {
  rgw = await useCephRgw();
  storage = await startTcpProxy({ target: rgw.endpoint });
  app = await createBulkExportApp({ started: false, area: { fileLimits, leaseMs } });
  databaseProxy = await startTcpProxy({ target: app.databaseUrl });
  await createBucket(rgw, bucket);
  destinationId = await app.newDestination({ ...rgw, endpoint: storage.urlFor(rgw.endpoint) }, bucket);
}, 180_000);
afterEach(async () => {
  await child?.kill();
  child = undefined;
  await storage.restore();
  await databaseProxy.restore();
});
afterAll(async () => {
  await app?.stop();
  await databaseProxy?.stop();
  await storage?.stop();
  await rgw?.stop();
});

async function startChild(databaseUrl = app.databaseUrl): Promise<ChildProcess> {
  const settings: ChildSettings = { databaseUrl, secretKey: app.secretKey, fileLimits, leaseMs };
  const script = fileURLToPath(new URL("../support/bulk-export-child.ts", import.meta.url));
  const started = spawnProcess(process.execPath, [script, JSON.stringify(settings)], { name: "exporter" });
  child = started;
  await started.waitForLine("ready", 60_000);
  return started;
}

type Begun = { id: string; runs: StoredRun[] };

async function begin(): Promise<Begun> {
  const projectId = await app.newProject();
  const runs = manyRuns(2_000, "2026-05-05", "x".repeat(2_000));
  await storeRuns(app.database.sql, { workspaceId: app.workspaceId, projectId }, runs);
  storage.delay(40);
  const { id } = await app.newExport({
    bulk_export_destination_id: destinationId,
    session_id: projectId,
    start_time: "2026-05-05T00:00:00Z",
    end_time: "2026-05-06T00:00:00Z",
  });
  return { id, runs };
}

type Row = {
  files: { path: string; token: string }[];
  retry_number: number;
  pending_upload: { file_path: string; token: string } | null;
};

async function readPartition(exportId: string, sql: Sql = app.database.sql): Promise<Row | undefined> {
  const { rows } = await raw<Row>`select files, retry_number, pending_upload from bulk_export_runs
    where bulk_export_id = ${exportId}`.execute(sql);
  return rows[0];
}

const until = (what: string, check: () => Promise<boolean>) =>
  waitUntil(check, { what, timeoutMs: 60_000, intervalMs: 20 });

async function expectAllOnce({ id, runs }: Begun): Promise<void> {
  expect(await app.waitFor(id)).toMatchObject({ status: "COMPLETED", error: null });
  const files = await downloadExport(rgw, bucket, id);
  expect(files.keys.map((key) => key.split("/").at(-1))).toEqual(
    files.keys.map((_, index) => `part-${String(index).padStart(5, "0")}.parquet`),
  );
  expect((await files.readAgain()).map((row) => row.id)).toEqual(runs.map((run) => run.id));
  await files.remove();
}

async function inOtherProcess<T>(work: () => Promise<T>): Promise<T> {
  const other = app.another({ fileLimits, leaseMs });
  await startArea(other);
  try {
    return await work();
  } finally {
    await stopArea(other, { graceMs: 0 });
  }
}

/** An upload of which the storage holds a part, and that nobody will complete. */
async function beginForgottenUpload(key: string): Promise<void> {
  const path = `/${bucket}/${key}`;
  const begun = await s3Request({ ...rgw, method: "POST", path, query: { uploads: "" } });
  const uploadId = /<UploadId>([^<]+)</.exec(await begun.text())![1]!;
  const part = { method: "PUT", path, query: { partNumber: "1", uploadId }, body: "x" } as const;
  expect((await s3Request({ ...rgw, ...part })).ok).toBe(true);
}

async function listUploads(): Promise<string[]> {
  const answer = await s3Request({ ...rgw, method: "GET", path: `/${bucket}`, query: { uploads: "" } });
  return [...(await answer.text()).matchAll(/<Key>([^<]*)<\/Key>/g)].map((match) => match[1]!).sort();
}

describe("a process killed", () => {
  test("in the middle of a file: the next one goes on from the cursor with the same names", async () => {
    const started = await startChild();
    const begun = await begin();
    await until("two files", async () => ((await readPartition(begun.id))?.files.length ?? 0) >= 2);
    await started.kill();
    const before = (await readPartition(begun.id))!.files;
    await inOtherProcess(() => expectAllOnce(begun));
    const after = (await readPartition(begun.id))!;
    expect(after.files.slice(0, before.length)).toEqual(before);
    expect(after.retry_number).toBe(1);
  });

  test("in the middle of an upload: the parts it left are removed by the next one, others stay", async () => {
    const started = await startChild();
    const begun = await begin();
    await until("a file", async () => ((await readPartition(begun.id))?.files.length ?? 0) >= 1);
    await started.kill();
    const { files } = (await readPartition(begun.id))!;
    const folder = files[0]!.path.slice(0, files[0]!.path.lastIndexOf("/"));
    const left = `${folder}/part-00099.parquet`;
    const foreign = "of-somebody-else/part-00000.parquet";
    for (const key of [left, foreign]) await beginForgottenUpload(key);
    expect(await listUploads()).toEqual([left, foreign].sort());
    await inOtherProcess(() => expectAllOnce(begun));
    expect(await listUploads()).toEqual([foreign]);
  });

  test("between an upload and its cursor: the file is recognised, not written again", async () => {
    const started = await startChild();
    const begun = await begin();
    await until("a file", async () => ((await readPartition(begun.id))?.files.length ?? 0) >= 1);
    let pending: Row["pending_upload"] = null;
    // Moving the cursor waits behind this lock, while the upload itself continues.
    await app.database.transaction(async (tx) => {
      await until("an upload begun", async () => {
        await raw`savepoint look`.execute(tx);
        await raw`select 1 from bulk_exports where id = ${begun.id} for update`.execute(tx);
        pending = (await readPartition(begun.id, tx))?.pending_upload ?? null;
        if (pending === null) await raw`rollback to savepoint look`.execute(tx);
        return pending !== null;
      });
      const { file_path } = pending!;
      await until("the object", async () => {
        const found = await s3Request({ ...rgw, method: "HEAD", path: `/${bucket}/${file_path}` });
        return found.status === 200;
      });
      await started.kill();
    });
    await inOtherProcess(() => expectAllOnce(begun));
    const after = (await readPartition(begun.id))!;
    expect(after.files).toContainEqual(
      expect.objectContaining({ path: pending!.file_path, token: pending!.token }),
    );
    expect(after.retry_number).toBe(1);
  });
});

/** One that sleeps in the middle of a transaction keeps its locks, and everybody waits for it: not what is tested. */
async function stopOutsideTransactions(process: ChildProcess): Promise<void> {
  const sessions = async (state: string) => {
    const { rows } = await raw<{ count: number }>`select count(*)::int as count from pg_stat_activity
      where datname = current_database() and application_name = 'treadle' and state = ${state}`.execute(
      app.database.sql,
    );
    return rows[0]!.count;
  };
  for (;;) {
    process.signal("SIGSTOP");
    await until("its statements to end", async () => (await sessions("active")) === 0);
    if ((await sessions("idle in transaction")) === 0) return;
    process.signal("SIGCONT");
  }
}

test("a process that sleeps through its lease and wakes up again changes nothing", async () => {
  const started = await startChild();
  const begun = await begin();
  await until("a file", async () => ((await readPartition(begun.id))?.files.length ?? 0) >= 1);
  await stopOutsideTransactions(started);
  await inOtherProcess(async () => {
    await until(
      "the other one to take over",
      async () => ((await readPartition(begun.id))?.retry_number ?? 0) >= 1,
    );
    started.signal("SIGCONT");
    await started.waitForLine(/job lost|not accepted|left unfinished/, 30_000);
    await expectAllOnce(begun);
  });
});

test("a process that is asked to stop hands its partition over, and that is no retry", async () => {
  const stopping = app.another({ fileLimits, leaseMs });
  await startArea(stopping);
  const begun = await begin();
  await until("a file", async () => ((await readPartition(begun.id))?.files.length ?? 0) >= 1);
  await stopArea(stopping, { graceMs: 0 });
  expect((await app.getExport(begun.id)).status).toBe("RUNNING");
  await inOtherProcess(() => expectAllOnce(begun));
  expect((await readPartition(begun.id))!.retry_number).toBe(0);
});

test("two processes share the partitions of an export, each written by one", async () => {
  const projectId = await app.newProject();
  const place = { workspaceId: app.workspaceId, projectId };
  const days = Array.from({ length: 6 }, (_, index) => `2026-06-0${index + 1}`);
  const runs = days.flatMap((day) => manyRuns(50, day));
  await storeRuns(app.database.sql, place, runs);
  await startChild();
  await inOtherProcess(async () => {
    const { id } = await app.newExport({
      bulk_export_destination_id: destinationId,
      session_id: projectId,
      start_time: "2026-06-01T00:00:00Z",
      end_time: "2026-06-07T00:00:00Z",
    });
    await expectDays(id, runs);
  });
});

async function expectDays(id: string, runs: StoredRun[]): Promise<void> {
  expect(await app.waitFor(id)).toMatchObject({ status: "COMPLETED" });
  const files = await downloadExport(rgw, bucket, id);
  expect(files.keys).toHaveLength(6);
  const ids = (await files.readAgain()).map((row) => row.id);
  expect(ids.toSorted()).toEqual(runs.map((run) => run.id).toSorted());
  await files.remove();
}

test("a database that goes away and comes back is waited for", async () => {
  const url = new URL(app.databaseUrl);
  url.hostname = databaseProxy.host;
  url.port = String(databaseProxy.port);
  await startChild(url.href);
  const begun = await begin();
  await until("a file", async () => ((await readPartition(begun.id))?.files.length ?? 0) >= 1);
  await databaseProxy.refuse();
  await until("the lease to run out or the partition to wait", async () => {
    const { rows } = await raw<{ held: number }>`select count(*)::int as held from jobs
      where status = 'running' and lease_expires_at > now()`.execute(app.database.sql);
    return rows[0]!.held === 0;
  });
  await databaseProxy.restore();
  await expectAllOnce(begun);
});
