import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bucketPlace } from "../../../tests/support/blob-place.ts";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import {
  machineWalls,
  packageRoot,
  startControlPlane,
  treadleCommand,
} from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertDeployment, insertWorkspace } from "../../../tests/support/deployment-rows.ts";
import type { BlobStore } from "../../platform/blob/blob-store.ts";
import { FolderBlobStore } from "../../platform/blob/folder-blob-store.ts";
import { openBlobStore } from "../../platform/blob/open-blob-store.ts";
import { systemClock } from "../../platform/clock.ts";
import { raw } from "../../platform/db/raw.ts";
import { createLogger } from "../../platform/logger.ts";
import { insertArtifact } from "../builds/artifact-store.ts";
import { ProcessRuntime } from "../runtimes/process-runtime.ts";
import { uploadKey } from "../uploads/upload-service.ts";
import { insertUpload } from "../uploads/upload-store.ts";
import { maintain } from "./maintenance.ts";

/** Nobody listens on this port. */
const nowhere = { endpoint: "http://127.0.0.1:9", region: "us-east-1", accessKey: "a", secretKey: "b" };
const never = new AbortController().signal;
let test: TestDatabase;
let temp: TempFolder;
beforeAll(async () => {
  [test, temp] = await Promise.all([createTestDatabase(), createTempFolder("maintenance")]);
});
afterAll(async () => {
  await test?.drop();
  await temp?.remove();
});

function run(blobs: BlobStore): Promise<void> {
  const logger = createLogger({ level: "silent" });
  const { database } = test;
  return maintain(
    {
      ...{ database, clock: systemClock, logger, folder: temp.path, blobs },
      logs: { retentionDays: 7, maxLines: 1_000 },
    },
    never,
  );
}

type Left = { uploads: number; artifacts: number; blobs: number };

async function left(): Promise<Left> {
  const { rows } = await raw<Left>`
    select (select count(*)::int from source_uploads) as uploads,
      (select count(*)::int from build_artifacts) as artifacts,
      (select count(*)::int from unclaimed_blobs) as blobs`.execute(test.database.sql);
  return rows[0]!;
}

it("does the rest while the storage is away, and forgets no upload whose archive is still there", async () => {
  const { sql } = test.database;
  const workspaceId = await insertWorkspace(sql);
  const deploymentId = await insertDeployment(sql, workspaceId);
  const old = new Date(Date.now() - 3 * 86_400_000);
  const blobs = new FolderBlobStore(join(temp.path, "blobs"));
  const paths = ["one", "two"].map((name) => `${deploymentId}/${name}`);
  for (const objectPath of paths) {
    const tokenHash = randomUUID();
    await insertUpload(sql, { objectPath, deploymentId, workspaceId, tokenHash, now: old, expiresAt: old });
    await blobs.put(uploadKey(objectPath), Buffer.from("archive"));
  }
  for (const digit of ["1", "2"]) {
    const row = { key: digit.repeat(64), workspace_id: workspaceId, path: "/nowhere", bytes: 1 };
    const stored = { sha256: "a", packed_bytes: 1, blob_id: null };
    await insertArtifact(sql, { ...row, uses_own_auth: false, ...stored }, old);
  }
  const away = await openBlobStore({ ...bucketPlace(nowhere, "none"), prefix: "" });
  await run(away);
  away.close();
  // The rows are gone, and it is written down what is left of them.
  expect(await left()).toEqual({ uploads: 0, artifacts: 0, blobs: 4 });
  await run(blobs);
  expect(await left()).toEqual({ uploads: 0, artifacts: 0, blobs: 0 });
  expect(await blobs.list("uploads/", { limit: 10 })).toEqual([]);
});

it("does the rest while the cluster refuses the limits of workspaces", async () => {
  class RefusingRuntime extends ProcessRuntime {
    async applyLimits(): Promise<void> {
      throw new Error("it is forbidden");
    }
  }
  // Those of other tests have no databases.
  await raw`delete from deployments`.execute(test.database.sql);
  const runtime = new RefusingRuntime({
    ...{ command: treadleCommand, packageRoot, walls: machineWalls() },
    logger: createLogger({ level: "silent" }),
  });
  const plane = await startControlPlane({
    ...{ databaseUrl: test.url, folder: join(temp.path, "plane"), runtime },
  });
  try {
    const { body } = await plane.call<{ id: string }>("POST", "/v2/deployments", {
      ...{ name: `bot-${randomUUID()}`, source: "internal_source", source_config: {} },
      source_revision_config: {},
    });
    const domains = `/v2/deployments/${body.id}/domains`;
    expect((await plane.call("POST", domains, { domain: "agent.example.com" })).status).toBe(201);
    await raw`update deployment_domains set expires_at = now() - interval '1 second'`.execute(
      test.database.sql,
    );
    const job = plane.recurringJobs.find(({ kind }) => kind === "control_plane.maintain")!;
    const done = job.handler({ payload: {}, signal: never } as never);
    await expect(done).rejects.toThrow("it is forbidden");
    expect((await raw`select 1 from deployment_domains`.execute(test.database.sql)).rows).toEqual([]);
  } finally {
    await plane.stop();
  }
});
