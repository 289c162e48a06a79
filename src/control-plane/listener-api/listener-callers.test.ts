import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { ListenerPeer } from "../../../tests/support/listener-peer.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Recognised } from "./listener-wire.ts";

vi.setConfig({ testTimeout: 60_000 });

let test: TestDatabase;
let folder: TempFolder;
let plane: ControlPlaneServer;
let peer: ListenerPeer;
beforeAll(async () => {
  [test, folder] = await Promise.all([createTestDatabase(), createTempFolder("listener-callers")]);
  plane = await startControlPlane({ databaseUrl: test.url, folder: folder.path });
  peer = await ListenerPeer.make(plane);
});
afterAll(async () => {
  await plane?.stop();
  await test?.drop();
  await folder?.remove();
});

async function recognise(api_key: string | null, more: object = {}): Promise<Recognised["caller"]> {
  const asked = { api_key, authorization: null, tenant_id: null, ...more };
  const { status, body } = await peer.call<Recognised>("POST", "/callers", asked);
  expect(status).toBe(200);
  expect(body.caller === null).toBe(body.refusal !== null);
  return body.caller;
}

it("is told of every key of the platform that it is one, so that no project sees it", async () => {
  const isKey = async (api_key: string) => {
    const asked = { api_key, authorization: null, tenant_id: null };
    return (await peer.call<Recognised>("POST", "/callers", asked)).body;
  };
  const { body: other } = await plane.call<{ id: string }>("POST", "/v2/workspaces", { name: "A third" });
  const foreign = await makeKey({ service: true, scopes: ["read"] }, other.id);
  expect(await isKey(foreign)).toMatchObject({ caller: null, is_credential: true });
  expect(await isKey(plane.apiKey)).toMatchObject({ is_credential: true });
  const stranger = await isKey("a-key-that-nobody-has");
  expect(stranger).toMatchObject({ caller: null, is_credential: false, has_chosen_keys: true });
  // The administrator's key here was chosen; without it all are known by their beginning.
  const sql = test.database.sql;
  await raw`update api_keys set prefix = 'trk_' || prefix where name = 'TREADLE_API_KEY'`.execute(sql);
  expect(await isKey("a-key-that-nobody-has")).toMatchObject({ has_chosen_keys: false });
});

async function makeKey(body: object, tenant?: string): Promise<string> {
  const headers = { "x-api-key": plane.apiKey, ...(tenant ? { "x-tenant-id": tenant } : {}) };
  const made = await plane.call<{ key: string }>("POST", "/v2/api-keys", { name: "k", ...body }, headers);
  expect(made.status).toBe(201);
  return made.body.key;
}

it("knows credentials of its own workspace with the rights they have, and no more", async () => {
  const reader = await makeKey({ service: true, scopes: ["read"] });
  expect(await recognise(reader)).toMatchObject({ role: "viewer", via: "service", scopes: ["read"] });
  const viewer = await makeKey({ role: "viewer" });
  expect(await recognise(viewer)).toMatchObject({ role: "viewer", via: "api_key", scopes: null });
  // Its own key reads nothing and starts nothing at its deployments either.
  expect(await recognise(peer.key)).toMatchObject({ scopes: ["listener"] });
});

it("is told of nobody else", async () => {
  const { body: other } = await plane.call<{ id: string }>("POST", "/v2/workspaces", { name: "Another" });
  const foreign = await makeKey({ service: true, scopes: ["read"] }, other.id);
  const tracing = await makeKey({ service: true, scopes: ["traces:write"], tracing_project: "one" });
  expect(await recognise(foreign)).toBeNull();
  expect(await recognise(tracing)).toBeNull();
  expect(await recognise("a-key-nobody-has")).toBeNull();
  expect(await recognise(null)).toBeNull();
  expect(await recognise(null, { authorization: "Bearer nonsense" })).toBeNull();
  // Somebody of both workspaces, who asks for the other one.
  expect(await recognise(plane.apiKey, { tenant_id: other.id })).toBeNull();
});
