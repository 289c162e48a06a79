import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { ListenerPeer } from "../../../tests/support/listener-peer.ts";
import { raw } from "../../platform/db/raw.ts";
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

it("one that was stored in capitals before is found after the migration", async () => {
  const each = await ListenerPeer.make(plane);
  const { id } = await each.deploy();
  const { sql } = test.database;
  await raw`update deployments set source_config = source_config || ${JSON.stringify({ listener_id: each.id.toUpperCase() })}::jsonb
    where id = ${id}`.execute(sql);
  const epoch = await each.takeLease();
  const wanted = async () =>
    (await each.call<WantedState>("POST", "/poll", { epoch })).body.deployments.map((one) => one.id);
  expect(await wanted()).toEqual([]);
  const migration = new URL("../../../migrations/0170_listener_ids_lower_case.sql", import.meta.url);
  await raw`${raw.raw(await readFile(migration, "utf8"))}`.execute(sql);
  expect(await wanted()).toEqual([id]);
});

it("a server whose pods are all lost there is not taken for one that serves", async () => {
  const each = await ListenerPeer.make(plane);
  const { id, latest_revision_id: revision_id } = await each.deploy();
  const epoch = await each.takeLease();
  const now = new Date().toISOString();
  const server = {
    ...{ id: randomUUID(), deployment_id: id, revision_id, state: "ready", attempt: 1, tracing_key_id: null },
    ...{ started_at: now, ready_at: now, drain_since: null, stop_since: null, exited_at: null },
    ...{ exit_kind: null, exit_detail: null },
  };
  const serving = {
    ...{ id, url: "http://127.0.0.1:9/d/x", database_ready: true, switched_at: now },
    ...{ active_revision_id: revision_id, previous_revision_id: null },
  };
  const healthAfter = async (told: object) => {
    const answer = await each.report(epoch, { held: [id], deployments: [serving], instances: [told] });
    expect(answer.status).toBe(200);
    const { body } = await plane.call<{ health: { state: string } }>("GET", `/v2/deployments/${id}`);
    return body.health.state;
  };
  // A listener of an earlier version does not tell.
  expect(await healthAfter(server)).toBe("serving");
  expect(await healthAfter({ ...server, lost_pods: true })).toBe("restarting");
  expect(await healthAfter({ ...server, lost_pods: false })).toBe("serving");
});
