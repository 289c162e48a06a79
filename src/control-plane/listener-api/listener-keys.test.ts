import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { ListenerPeer } from "../../../tests/support/listener-peer.ts";

vi.setConfig({ testTimeout: 60_000 });

let test: TestDatabase;
let folder: TempFolder;
let plane: ControlPlaneServer;
beforeAll(async () => {
  [test, folder] = await Promise.all([createTestDatabase(), createTempFolder("listener-keys")]);
  plane = await startControlPlane({ databaseUrl: test.url, folder: folder.path });
});
afterAll(async () => {
  await plane?.stop();
  await test?.drop();
  await folder?.remove();
});

const refused = [403, "listener.key_of_another"];

it("a key acts for the listener of its first use, and for no other", async () => {
  const [mine, other] = [await ListenerPeer.make(plane), await ListenerPeer.make(plane)];
  const { latest_revision_id: revision } = await other.deploy();
  const epoch = await other.takeLease();
  await mine.takeLease();
  const thief = new ListenerPeer(plane, { id: other.id, key: mine.key });
  // With the right epoch: it is a small number.
  const asked: [string, string, object | undefined][] = [
    ["GET", "", undefined],
    ["POST", "/poll", { epoch }],
    ["POST", "/lease/end", { epoch }],
    ["POST", "/callers", { api_key: null, authorization: null, tenant_id: null }],
    ["POST", `/revisions/${revision}/secrets`, { epoch }],
    ["POST", `/revisions/${revision}/source`, { epoch }],
    ["GET", `/revisions/${revision}/archive?epoch=${epoch}`, undefined],
  ];
  for (const [method, path, body] of asked) {
    const answer = await thief.call<{ detail: string }>(method, path, body);
    expect([path, answer.status, answer.headers.get("x-error-code")]).toEqual([path, ...refused]);
    expect(answer.body.detail).toContain("treadle keys create");
  }
  const report = await thief.report(epoch, {});
  expect([report.status, report.headers.get("x-error-code")]).toEqual(refused);
  await expect(thief.takeLease()).rejects.toThrow("403");
  // Also with a wrong epoch, and in another writing of the id.
  const loud = new ListenerPeer(plane, { id: other.id.toUpperCase(), key: mine.key });
  expect((await loud.call("POST", "/poll", { epoch: 99 })).status).toBe(403);
  expect((await other.call("POST", "/poll", { epoch })).status).toBe(200);
});

it("a key that polls with the lease of an earlier version is bound by that", async () => {
  const [mine, other] = [await ListenerPeer.make(plane), await ListenerPeer.make(plane)];
  const epoch = await mine.takeLease();
  const unbound = await ListenerPeer.key(plane);
  const upgraded = new ListenerPeer(plane, { id: mine.id, key: unbound });
  expect((await upgraded.call("POST", "/poll", { epoch })).status).toBe(200);
  const elsewhere = new ListenerPeer(plane, { id: other.id, key: unbound });
  await expect(elsewhere.takeLease()).rejects.toThrow("403");
});

it("stays bound when its listener is deleted", async () => {
  const [gone, other] = [await ListenerPeer.make(plane), await ListenerPeer.make(plane)];
  await gone.takeLease();
  expect((await plane.call("DELETE", `/v2/listeners/${gone.id}`)).status).toBe(204);
  const left = new ListenerPeer(plane, { id: other.id, key: gone.key });
  await expect(left.takeLease()).rejects.toThrow("403");
});

it("is bound before its first use by who made it, once", async () => {
  const [mine, other] = [await ListenerPeer.make(plane), await ListenerPeer.make(plane)];
  const made = await plane.call<{ id: string; key: string }>("POST", "/v2/api-keys", {
    ...{ name: "bound", service: true, scopes: ["listener"] },
  });
  const bind = (to: ListenerPeer, api_key_id: string) =>
    plane.call("PATCH", `/v2/listeners/${to.id}`, { api_key_id });
  expect((await bind(mine, made.body.id)).status).toBe(200);
  expect((await bind(mine, made.body.id)).status).toBe(200);
  const second = await bind(other, made.body.id);
  expect([second.status, second.headers.get("x-error-code")]).toEqual([409, "listener.key_bound"]);
  const elsewhere = new ListenerPeer(plane, { id: other.id, key: made.body.key });
  await expect(elsewhere.takeLease()).rejects.toThrow("403");
});

it("only a key of the workspace with the scope is bound", async () => {
  const mine = await ListenerPeer.make(plane);
  const bind = async (api_key_id: string) =>
    (await plane.call("PATCH", `/v2/listeners/${mine.id}`, { api_key_id })).status;
  const reading = await plane.call<{ id: string }>("POST", "/v2/api-keys", {
    ...{ name: "reads", service: true, scopes: ["read"] },
  });
  const workspace = await plane.call<{ id: string }>("POST", "/v2/workspaces", { name: "Another" });
  const foreign = await plane.call<{ id: string }>(
    "POST",
    "/v2/api-keys",
    { name: "foreign", service: true, scopes: ["listener"] },
    { "x-api-key": plane.apiKey, "x-tenant-id": workspace.body.id },
  );
  expect(foreign.status).toBe(201);
  for (const id of [reading.body.id, foreign.body.id, randomUUID()]) expect(await bind(id)).toBe(422);
});
