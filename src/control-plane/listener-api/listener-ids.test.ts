import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { ListenerPeer } from "../../../tests/support/listener-peer.ts";
import type { WantedState } from "./listener-wire.ts";

vi.setConfig({ testTimeout: 60_000 });

/** A listener, and the same one by its id in capitals. */
let test: TestDatabase;
let folder: TempFolder;
let plane: ControlPlaneServer;
let peer: ListenerPeer;
let loud: ListenerPeer;
beforeAll(async () => {
  [test, folder] = await Promise.all([createTestDatabase(), createTempFolder("listener-ids")]);
  plane = await startControlPlane({ databaseUrl: test.url, folder: folder.path });
  peer = await ListenerPeer.make(plane);
  loud = new ListenerPeer(plane, { id: peer.id.toUpperCase(), key: peer.key });
});
afterAll(async () => {
  await plane?.stop();
  await test?.drop();
  await folder?.remove();
});

it("an id of a listener is the same in upper and in lower case", async () => {
  expect(loud.id).not.toBe(peer.id);
  const named = await loud.deploy();
  const view = await plane.call<{ source_config: object }>("GET", `/v2/deployments/${named.id}`);
  expect(view.body.source_config).toMatchObject({ listener_id: peer.id });
  const other = await peer.deploy();
  const epoch = await loud.takeLease();
  const wanted = [named.id, other.id].sort();
  for (const each of [peer, loud]) {
    const { status, body } = await each.call<WantedState>("POST", "/poll", { epoch });
    expect([status, body.deployments.map(({ id }) => id).sort()]).toEqual([200, wanted]);
  }
  const secrets = await loud.call("POST", `/revisions/${other.latest_revision_id.toUpperCase()}/secrets`, {
    epoch,
  });
  expect(secrets.status).toBe(200);
  const url = "http://127.0.0.1:9/d/x";
  const state = { active_revision_id: null, previous_revision_id: null, switched_at: null };
  const told = [{ id: other.id.toUpperCase(), url, database_ready: true, ...state }];
  expect((await loud.report(epoch, { held: wanted, deployments: told })).status).toBe(200);
  const served = await plane.call<{ url: string }>("GET", `/v2/deployments/${other.id.toUpperCase()}`);
  expect(served.body.url).toBe(url);
});

it("a change wakes a poll by the id in capitals", async () => {
  const each = await ListenerPeer.make(plane);
  const capital = new ListenerPeer(plane, { id: each.id.toUpperCase(), key: each.key });
  const { id } = await each.deploy();
  const epoch = await capital.takeLease();
  const { body } = await capital.call<WantedState>("POST", "/poll", { epoch });
  const asked = { epoch, known: body.version, wait_seconds: 30 };
  const woken = capital.call<WantedState>("POST", "/poll", asked);
  expect((await plane.call("POST", `/v2/deployments/${id}/stop`)).status).toBe(200);
  const answer = await woken;
  expect([answer.status, answer.body.deployments[0]?.desired_state]).toEqual([200, "stopped"]);
});

it("a listener in use is not deleted by its id in capitals", async () => {
  const each = await ListenerPeer.make(plane);
  await each.deploy();
  const refused = await plane.call("DELETE", `/v2/listeners/${each.id.toUpperCase()}`);
  expect([refused.status, refused.headers.get("x-error-code")]).toEqual([409, "listener.in_use"]);
  expect((await plane.call("GET", `/v2/listeners/${each.id}`)).status).toBe(200);
});
