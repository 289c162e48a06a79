import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { create } from "tar";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { purge } from "../../src/control-plane/reconciler/maintenance.ts";
import { uploadKey } from "../../src/control-plane/uploads/upload-service.ts";
import { openBlobStore } from "../../src/platform/blob/open-blob-store.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { bucketPlace } from "../support/blob-place.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type ControlPlaneServer, startControlPlane } from "../support/control-plane.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import { type DeploymentBody, type RevisionBody, revisionDone } from "../support/deployments.ts";
import { createBucket, listKeys } from "../support/exported-files.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import { type CephRgw, useCephRgw } from "../support/shared-ceph.ts";

const bucket = "treadle";
const settings = { bakeMs: 500, healthMs: 60_000 };

/** Two servers with data folders of their own on one database and one bucket. The first to start builds and deploys. */
let rgw: CephRgw;
let site: DeploymentSite;
let builder: ControlPlaneServer;
let other: ControlPlaneServer;
let otherFolder: TempFolder;

beforeAll(async () => {
  rgw = await useCephRgw();
  await createBucket(rgw, bucket);
  const blobs = bucketPlace(rgw, bucket, "blobs/");
  site = await startDeploymentSite("builder", { settings, blobs, keepDatabases: true });
  builder = site.plane;
  otherFolder = await createTempFolder("other");
  other = await startControlPlane({
    ...{ settings, blobs, databaseUrl: site.database.url, folder: otherFolder.path },
    ...{ apiKey: builder.apiKey, workspaceId: builder.workspaceId },
  });
}, 180_000);
afterAll(async () => {
  // The first is stopped by the last test; the other has their databases.
  await other?.stop();
  await site?.stop();
  await otherFolder?.remove();
  await rgw?.stop();
});

async function pack(name: string): Promise<Buffer> {
  const source = join(site.folder.path, "scratch", name);
  const files = quickProject(name) as Record<string, string>;
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(source, path)), { recursive: true });
    await writeFile(join(source, path), text);
  }
  await create({ gzip: true, file: `${source}.tar.gz`, cwd: source }, Object.keys(files));
  return readFile(`${source}.tar.gz`);
}

async function newDeployment(name: string): Promise<DeploymentBody> {
  const { body } = await other.call<DeploymentBody>("POST", "/v2/deployments", {
    name,
    source: "internal_source",
    source_config: { install_command: quickInstall },
    source_revision_config: {},
  });
  return body;
}

const newUpload = async (id: string) =>
  (await other.call<{ upload_url: string; object_path: string }>("POST", `/v2/deployments/${id}/upload-url`))
    .body;

const keysOf = (kind: string, id = "") => listKeys(rgw, bucket, `blobs/${kind}/${id}`);

async function deployUpload(id: string, source_tarball_path: string): Promise<RevisionBody> {
  const { body } = await other.call<DeploymentBody>("PATCH", `/v2/deployments/${id}`, {
    source_revision_config: { source_tarball_path },
  });
  return revisionDone(other, id, body.latest_revision_id!);
}

describe("a bucket that two servers share", () => {
  it("what is uploaded on one is built on the other, and goes with its deployment", async () => {
    const deployment = await newDeployment("moved");
    const upload = await newUpload(deployment.id);
    expect(new URL(upload.upload_url).origin).toBe(other.url);
    const put = await fetch(upload.upload_url, { method: "PUT", body: await pack("moved") });
    expect(put.status).toBe(200);
    expect(await keysOf("uploads", deployment.id)).toEqual([`blobs/uploads/${upload.object_path}`]);

    const done = await deployUpload(deployment.id, upload.object_path);
    expect([done.status, done.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
    expect(await readdir(join(otherFolder.path, "builds")).catch(() => [])).toEqual([]);
    const answer = await fetch(`${builder.url}/d/${deployment.slug}/version`);
    expect(await answer.json()).toMatchObject({ answer: "moved" });
    const [artifact] = await keysOf("artifacts");
    expect(artifact).toMatch(/^blobs\/artifacts\/[0-9a-f]{64}\.[0-9a-f-]{36}\.tar\.zst$/);

    expect((await other.call("DELETE", `/v2/deployments/${deployment.id}`)).status).toBe(204);
    const { rows } = await raw<{ id: string; database_name: string }>`
      select id, database_name from deployments where id = ${deployment.id}`.execute(builder.database.sql);
    await waitUntil(
      async () => {
        const { rows: live } = await raw`
          select 1 from deployment_instances where deployment_id = ${deployment.id} and state <> 'exited'`.execute(
          builder.database.sql,
        );
        return live.length === 0;
      },
      { timeoutMs: 60_000, what: "the deployment's servers are gone" },
    );
    await raw`update build_artifacts set used_at = now() - interval '1 day'`.execute(builder.database.sql);
    const blobs = await openBlobStore(bucketPlace(rgw, bucket, "blobs/"));
    const logger = createLogger({ level: "silent" });
    await purge({ database: builder.database, logger, folder: site.folder.path, blobs }, rows[0]!);
    blobs.close();
    expect(await listKeys(rgw, bucket)).toEqual([]);
  }, 180_000);

  it("an upload that is cut off, empty or too late leaves nothing behind", async () => {
    const deployment = await newDeployment("torn");
    const torn = await newUpload(deployment.id);
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(9 * 1024 * 1024));
        controller.error(new Error("the line was cut"));
      },
    });
    const init = { method: "PUT", body, duplex: "half" } as RequestInit;
    await expect(fetch(torn.upload_url, init)).rejects.toThrow();
    expect((await fetch(torn.upload_url, { method: "PUT", body: "" })).status).toBe(400);
    expect(await keysOf("uploads", deployment.id)).toEqual([]);
    // Its address is as good as before.
    const whole = await pack("torn");
    expect((await fetch(torn.upload_url, { method: "PUT", body: whole })).status).toBe(200);
    expect((await fetch(torn.upload_url, { method: "PUT", body: "something else" })).status).toBe(403);
    const keys = await keysOf("uploads", deployment.id);
    expect(keys).toHaveLength(1);
    // The one that completed it, which is the second unless the first was cut off before it arrived.
    expect([1, 2].map((attempt) => `blobs/${uploadKey(torn.object_path, attempt)}`)).toContain(keys[0]);
  }, 60_000);

  it("an archive that was changed in the bucket is not built, and the revision says why", async () => {
    const deployment = await newDeployment("changed");
    const upload = await newUpload(deployment.id);
    await fetch(upload.upload_url, { method: "PUT", body: await pack("changed") });
    const blobs = await openBlobStore(bucketPlace(rgw, bucket, "blobs/"));
    await blobs.put(`uploads/${upload.object_path}`, await pack("another"));
    const done = await deployUpload(deployment.id, upload.object_path);
    expect([done.status, done.status_message]).toEqual([
      "BUILD_FAILED",
      expect.stringContaining("its checksum differs. Upload the source again."),
    ]);
    await blobs.remove(`uploads/${upload.object_path}`);
    blobs.close();
    const gone = await deployUpload(deployment.id, upload.object_path);
    expect(gone.status_message).toContain("is gone from the storage");
  }, 60_000);

  it("a storage that is away refuses an upload with 503, and the same address serves later", async () => {
    const deployment = await newDeployment("away");
    const upload = await newUpload(deployment.id);
    const body = await pack("away");
    await rgw.killGateway();
    try {
      const refused = await fetch(upload.upload_url, { method: "PUT", body });
      expect([refused.status, refused.headers.get("x-error-code")]).toEqual([503, "blob.unreachable"]);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      const said = await refused.text();
      expect(said).toContain("storage cannot be reached at the moment");
      expect(said).not.toContain(new URL(rgw.endpoint).host);
    } finally {
      await rgw.startGateway();
    }
    expect((await fetch(upload.upload_url, { method: "PUT", body })).status).toBe(200);
  }, 120_000);

  it("what one has built, the other starts when the first is gone", async () => {
    const deployment = await newDeployment("taken");
    const upload = await newUpload(deployment.id);
    await fetch(upload.upload_url, { method: "PUT", body: await pack("taken") });
    const revision = await deployUpload(deployment.id, upload.object_path);
    expect(revision.status).toBe("DEPLOYED");
    const built = await readdir(join(site.folder.path, "artifacts"));
    expect(await readdir(join(otherFolder.path, "artifacts")).catch(() => [])).toEqual([]);
    await builder.stop();
    await waitUntil(
      async () => {
        const answer = await fetch(`${other.url}/d/${deployment.slug}/version`);
        return answer.ok && ((await answer.json()) as { answer: string }).answer === "taken";
      },
      { timeoutMs: 90_000, what: "the other server serves it", intervalMs: 500 },
    );
    const fetched = await readdir(join(otherFolder.path, "artifacts"));
    expect(fetched.length).toBe(1);
    expect(built).toContain(fetched[0]);
    const { body } = await other.call<RevisionBody>(
      "GET",
      `/v2/deployments/${deployment.id}/revisions/${revision.id}`,
    );
    expect(body.events.map(({ kind }) => kind)).toContain("fetch");
  }, 180_000);
});
