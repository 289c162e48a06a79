import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { insertDeployment } from "../../../tests/support/deployment-rows.ts";
import { ListenerPeer } from "../../../tests/support/listener-peer.ts";
import { raw } from "../../platform/db/raw.ts";
import { databaseNameOf } from "../desired-state/deployment.ts";
import { removeListener } from "../listeners/listener-removal-service.ts";
import { holdListener } from "../listeners/listener-store.ts";

type Deployment = { id: string; latest_revision_id: string };

let test: TestDatabase;
let folder: TempFolder;
let plane: ControlPlaneServer;
let asListener: { "x-api-key": string };
let path: string;
let listenerId: string;
beforeAll(async () => {
  [test, folder] = await Promise.all([createTestDatabase(), createTempFolder("listener-api")]);
  plane = await startControlPlane({ databaseUrl: test.url, folder: folder.path });
});
afterAll(async () => {
  await plane?.stop();
  await test?.drop();
  await folder?.remove();
});
beforeEach(async () => {
  const { body } = await plane.call<{ id: string }>("POST", "/v2/listeners", {
    ...{ compute_type: "process", compute_id: randomUUID(), compute_config: {} },
  });
  listenerId = body.id;
  asListener = { "x-api-key": await ListenerPeer.key(plane) };
  path = `/v2/listeners/${listenerId}`;
});

const introduced = (place: string) => ({
  ...{
    place,
    holder: randomUUID(),
    version: "1",
    runtime: "process",
    url: "http://127.0.0.1:9",
  },
});

async function takeLease(place: string = randomUUID()): Promise<number> {
  const lease = await plane.call<{ epoch: number }>("POST", `${path}/lease`, introduced(place), asListener);
  expect(lease.status).toBe(200);
  return lease.body.epoch;
}

async function deploy(more: object): Promise<Deployment> {
  const made = await plane.call<Deployment>("POST", "/v2/deployments", {
    ...{ name: `d-${randomUUID()}`, secrets: [], source_revision_config: {} },
    ...more,
  });
  expect(made.status).toBe(201);
  return made.body;
}

it("gives the archive that was uploaded, also by a second request", async () => {
  const { id } = await deploy({ source: "internal_source", source_config: { listener_id: listenerId } });
  const { body: upload } = await plane.call<{ upload_url: string; object_path: string }>(
    "POST",
    `/v2/deployments/${id}/upload-url`,
  );
  const put = (body: string) =>
    fetch(upload.upload_url, {
      method: "PUT",
      body: new Blob([body]).stream(),
      duplex: "half",
    } as RequestInit);
  expect((await put("")).status).toBeGreaterThanOrEqual(400);
  expect((await put("the archive")).status).toBe(200);
  const changed = await plane.call<Deployment>("PATCH", `/v2/deployments/${id}`, {
    source_revision_config: { source_tarball_path: upload.object_path },
  });
  expect(changed.status).toBe(200);
  const epoch = await takeLease();
  const archive = await fetch(
    `${plane.url}${path}/revisions/${changed.body.latest_revision_id}/archive?epoch=${epoch}`,
    { headers: asListener },
  );
  expect([archive.status, await archive.text()]).toEqual([200, "the archive"]);
});

it("has no archive of a revision from git", async () => {
  const { latest_revision_id: revision } = await deploy({
    source: "github",
    source_config: { repo_url: "http://127.0.0.1:9/x.git", listener_id: listenerId },
    source_revision_config: { repo_ref: "main", graph_config_path: "langgraph.json" },
  });
  const epoch = await takeLease();
  const archive = `${path}/revisions/${revision}/archive?epoch=${epoch}`;
  const answer = await plane.call("GET", archive, undefined, asListener);
  expect([answer.status, answer.headers.get("x-error-code")]).toEqual([404, "revision.not_found"]);
});

it("a lease that was ended is renewed by nothing, and is another's at once", async () => {
  const place = randomUUID();
  const epoch = await takeLease(place);
  expect((await plane.call("POST", `${path}/lease/end`, { epoch }, asListener)).status).toBe(204);
  const late = await plane.call("POST", `${path}/poll`, { epoch }, asListener);
  expect([late.status, late.headers.get("x-error-code")]).toEqual([409, "listener.lease_lost"]);
  expect((await plane.call("GET", path)).body).toMatchObject({ presence: "away" });
  expect(await takeLease(place)).toBe(epoch + 1);
});

it("says who acts for it, and that nothing takes it from a process that is alive", async () => {
  await takeLease();
  const second = { ...introduced(randomUUID()), take_over: true };
  const held = await plane.call<{ detail: string }>("POST", `${path}/lease`, second, asListener);
  expect([held.status, held.headers.get("x-error-code")]).toEqual([409, "listener.held"]);
  expect(held.body.detail).toContain("version 1, it serves at http://127.0.0.1:9");
  expect(held.body.detail).toContain("Stop that one");
});

it("stores nothing of a report that arrives after a later one of the same lease", async () => {
  const { id, latest_revision_id: revision_id } = await deploy({
    source: "github",
    source_config: { repo_url: "http://127.0.0.1:9/x.git", listener_id: listenerId },
    source_revision_config: { repo_ref: "main", graph_config_path: "langgraph.json" },
  });
  const progress = async () =>
    (
      await raw<{ progress: number }>`select progress from revisions where id = ${revision_id}`.execute(
        test.database.sql,
      )
    ).rows[0]?.progress;
  const report = async (epoch: number, number: number, told: number) => {
    const answer = await plane.call<{ log_cursor: number }>(
      "POST",
      `${path}/reports`,
      {
        ...{ epoch, number, held: [id], deployments: [], instances: [], metrics: { until: null, items: [] } },
        ...{ events: { after: 0, upto: 0, items: [] }, logs: { after: 0, upto: 0, items: [] } },
        revisions: [
          {
            ...{ id: revision_id, status: "BUILDING", status_message: null, condition: null, failure: null },
            ...{ progress: told, repo_commit_sha: null, uses_own_auth: false },
            ...{ image_reference: null, image_digest: null },
          },
        ],
      },
      asListener,
    );
    expect(answer.status).toBe(200);
  };
  const place = randomUUID();
  const epoch = await takeLease(place);
  await report(epoch, 2, 50);
  await report(epoch, 1, 10);
  expect(await progress()).toBe(50);
  await report(epoch, 3, 60);
  expect(await progress()).toBe(60);
  expect((await plane.call("POST", `${path}/lease/end`, { epoch }, asListener)).status).toBe(204);
  await report(await takeLease(place), 1, 70);
  expect(await progress()).toBe(70);
});

it("is not removed while a deployment is being made that names it", async () => {
  const { database } = test;
  const { workspaceId } = plane;
  let removal: Promise<unknown> = Promise.resolve();
  await database.transaction(async (tx) => {
    expect(await holdListener(tx, workspaceId, listenerId)).toBeDefined();
    removal = removeListener(plane.database, workspaceId, listenerId).catch((error: unknown) => error);
    await waitUntil(
      async () => {
        const { rows } = await raw`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(plane.database.sql);
        return rows.length > 0;
      },
      { what: "the removal to wait", timeoutMs: 10_000 },
    );
    const id = await insertDeployment(tx, workspaceId);
    await raw`update deployments set source_config = ${JSON.stringify({ listener_id: listenerId })}::jsonb,
      database_name = ${databaseNameOf(id)} where id = ${id}`.execute(tx);
  });
  expect(await removal).toMatchObject({ code: "listener.in_use" });
});
