import { randomUUID } from "node:crypto";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defaultFileLimits } from "../../src/bulk-export/partitions/partition-task.ts";
import { type BulkExportApp, createBulkExportApp } from "../support/bulk-export-app.ts";
import { s3Request } from "../support/components/s3-request.ts";
import { createBucket, deleteObject, listKeys } from "../support/exported-files.ts";
import { manyRuns, storeRuns } from "../support/exported-runs.ts";
import { type CephRgw, useCephRgw } from "../support/shared-ceph.ts";

type File = { run_id: string; part: number; key: string; uri: string; rows: number; bytes: number };
type Page = { files: File[]; next_cursor: string | null };

const bucket = "linked";
const days = ["2026-02-01", "2026-02-02"];
const rowsPerDay = 900;
// Small ones, so that a day has several.
const fileLimits = { ...defaultFileLimits, pageBytes: 65_536, groupBytes: 262_144, fileBytes: 524_288 };
let rgw: CephRgw;
let app: BulkExportApp;
let exportId: string;
let path: string;
beforeAll(async () => {
  [rgw, app] = await Promise.all([useCephRgw(), createBulkExportApp({ area: { fileLimits } })]);
  await createBucket(rgw, bucket);
  const projectId = await app.newProject();
  for (const day of days) {
    const runs = manyRuns(rowsPerDay, day, "words ".repeat(300));
    await storeRuns(app.database.sql, { workspaceId: app.workspaceId, projectId }, runs);
  }
  exportId = await exported(await app.newDestination(rgw, bucket, "lake"), projectId);
  path = `/api/v1/bulk-exports/${exportId}`;
}, 240_000);
afterAll(async () => {
  await app?.stop();
  await rgw?.stop();
});

async function exported(destinationId: string, projectId: string): Promise<string> {
  const { id } = await app.newExport({
    bulk_export_destination_id: destinationId,
    session_id: projectId,
    start_time: `${days[0]}T00:00:00Z`,
    end_time: "2026-02-04T00:00:00Z",
  });
  expect(await app.waitFor(id)).toMatchObject({ status: "COMPLETED" });
  return id;
}

const list = async (query = "", of = path): Promise<Page> => {
  const answer = await app.call("GET", `${of}/files${query}`);
  expect(answer.status).toBe(200);
  return answer.body as Page;
};
const askLink = (file: Pick<File, "run_id" | "part">, of = path) =>
  app.call("POST", `${of}/runs/${file.run_id}/link`, { body: { part: file.part } });
const linkOf = async (file: File, of = path) => {
  const answer = await askLink(file, of);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as { url: string; expires_at: string };
};

describe("the files of an export", { timeout: 60_000 }, () => {
  test("are those in the bucket, each with its rows and size, in the order of their days", async () => {
    const { files, next_cursor } = await list();
    expect(next_cursor).toBeNull();
    expect(files.length).toBeGreaterThan(days.length);
    expect(files.map(({ key }) => key)).toEqual(await listKeys(rgw, bucket, `lake/export_id=${exportId}/`));
    expect(files.every(({ key, uri }) => uri === `s3://${bucket}/${key}`)).toBe(true);
    expect(files.reduce((sum, { rows }) => sum + rows, 0)).toBe(rowsPerDay * days.length);
    expect(files[0]).toMatchObject({ part: 0, start_time: "2026-02-01T00:00:00+00:00" });
    const ofDay = await list(`?run_id=${files[0]!.run_id}`);
    expect(ofDay.files).toEqual(files.filter(({ run_id }) => run_id === files[0]!.run_id));
    expect(ofDay.files.map(({ part }) => part)).toEqual(ofDay.files.map((_, index) => index));
  });

  test("come in pages, none twice and none left out", async () => {
    const { files } = await list();
    for (const limit of [1, 2, files.length]) {
      const found: File[] = [];
      let cursor: string | null = null;
      do {
        const page: Page = await list(`?limit=${limit}${cursor === null ? "" : `&cursor=${cursor}`}`);
        expect(page.files.length).toBeLessThanOrEqual(limit);
        found.push(...page.files);
        cursor = page.next_cursor;
      } while (cursor !== null);
      expect(found).toEqual(files);
    }
  });

  test("are refused with what to change", async () => {
    for (const query of ["?cursor=abc", "?limit=0", "?limit=1001", "?run_id=x"]) {
      expect((await app.call("GET", `${path}/files${query}`)).status, query).toBe(422);
    }
    expect((await app.call("GET", `${path}/files?run_id=${randomUUID()}`)).status).toBe(404);
    expect((await app.call("GET", `/api/v1/bulk-exports/${randomUUID()}/files`)).status).toBe(404);
  });
});

describe("a link", { timeout: 60_000 }, () => {
  test("downloads the file without credentials, and is refused when it is changed", async () => {
    const { files } = await list();
    const file = files[1]!;
    const { url, expires_at } = await linkOf(file);
    const left = Date.parse(expires_at) - Date.now();
    expect(left).toBeGreaterThan(200_000);
    expect(left).toBeLessThanOrEqual(300_000);
    const answer = await fetch(url);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-disposition")).toBe(
      `attachment; filename="2026-02-01-part-00001.parquet"`,
    );
    const content = await answer.arrayBuffer();
    expect(content.byteLength).toBe(file.bytes);
    expect(await parquetReadObjects({ file: content, compressors })).toHaveLength(file.rows);
    expect((await fetch(url, { method: "DELETE" })).status).toBe(403);
    const ofOther = url.replace("part-00001.parquet?", "part-00000.parquet?");
    expect(ofOther).not.toBe(url);
    expect((await fetch(ofOther)).status).toBe(403);
  });

  test("of a bucket that the endpoint names downloads too", async () => {
    const config = { bucket_name: bucket, include_bucket_in_prefix: false };
    const destination = await app.newDestination(rgw, bucket, "named", {
      ...config,
      endpoint_url: `${rgw.endpoint}/${bucket}`,
    });
    const projectId = await app.newProject();
    await storeRuns(
      app.database.sql,
      { workspaceId: app.workspaceId, projectId },
      manyRuns(3, days[0]!, "few"),
    );
    const of = `/api/v1/bulk-exports/${await exported(destination, projectId)}`;
    const [file] = (await list("", of)).files;
    const answer = await fetch((await linkOf(file!, of)).url);
    expect(answer.status).toBe(200);
    expect((await answer.arrayBuffer()).byteLength).toBe(file!.bytes);
  });

  test("is not made for a file that is not there, and the answer says which", async () => {
    const { files } = await list();
    const file = files.at(-1)!;
    expect(await askLink({ ...file, part: 999 })).toMatchObject({
      status: 404,
      body: { detail: expect.stringContaining("has no file 999") },
    });
    expect((await askLink({ ...file, run_id: randomUUID() })).status).toBe(404);
    await deleteObject(rgw, bucket, file.key);
    expect(await askLink(file)).toMatchObject({
      status: 404,
      body: { detail: `${file.uri} is not in the bucket any more.` },
    });
  });

  test("is not made with credentials that may only write, and the answer says what they need", async () => {
    const writer = await rgw.createUser();
    await createBucket(rgw, "write-only");
    const policy = JSON.stringify({
      Version: "2012-10-17",
      Statement: [
        {
          Effect: "Allow",
          Principal: { AWS: [writer.arn] },
          Action: ["s3:PutObject", "s3:AbortMultipartUpload"],
          Resource: ["arn:aws:s3:::write-only/*"],
        },
      ],
    });
    await s3Request({ ...rgw, method: "PUT", path: "/write-only", query: { policy: "" }, body: policy });
    const access = { ...rgw, accessKey: writer.accessKey, secretKey: writer.secretKey };
    // The owner of the bucket wrote it, and the key that is used from now on may not read that.
    const destination = await app.newDestination(rgw, "write-only");
    const projectId = await app.newProject();
    await storeRuns(
      app.database.sql,
      { workspaceId: app.workspaceId, projectId },
      manyRuns(3, days[0]!, "few"),
    );
    const of = `/api/v1/bulk-exports/${await exported(destination, projectId)}`;
    const rotated = await app.call("PATCH", `/api/v1/bulk-exports/destinations/${destination}`, {
      body: { credentials: { access_key_id: access.accessKey, secret_access_key: access.secretKey } },
    });
    expect(rotated.status).toBe(200);
    const [file] = (await list("", of)).files;
    expect(await askLink(file!, of)).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/may not read write-only\. Allow them s3:GetObject/) },
    });
  });

  test("is made for administrators of the workspace alone", async () => {
    const [file] = (await list()).files;
    const newKey = async (body: Record<string, unknown>) =>
      ((await app.call("POST", "/v2/api-keys", { body })).body as { key: string }).key;
    const asKey = (key: string) =>
      app.call("POST", `${path}/runs/${file!.run_id}/link`, { key, body: { part: 0 } });
    const viewer = await newKey({ name: "looks", role: "viewer" });
    expect((await app.call("GET", `${path}/files`, { key: viewer })).status).toBe(200);
    expect((await asKey(viewer)).status).toBe(403);
    expect((await asKey(await newKey({ name: "edits", role: "editor" }))).status).toBe(403);
    expect((await asKey(await newKey({ name: "exports", role: "admin", scopes: ["export"] }))).status).toBe(
      200,
    );
    expect((await asKey(await newKey({ name: "reads", role: "admin", scopes: ["read"] }))).status).toBe(403);
  });

  test("of an export of another workspace is not found, by its administrator either", async () => {
    const [file] = (await list()).files;
    const made = await app.call("POST", "/v2/workspaces", { body: { name: "elsewhere" } });
    expect(made.status).toBe(201);
    const tenant = (made.body as { id: string }).id;
    const body = { part: 0 };
    expect((await app.call("POST", `${path}/runs/${file!.run_id}/link`, { tenant, body })).status).toBe(404);
    expect((await app.call("GET", `${path}/files`, { tenant })).status).toBe(404);
  });
});
