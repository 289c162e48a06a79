import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import { ListenerPeer } from "../../../tests/support/listener-peer.ts";
import { raw } from "../../platform/db/raw.ts";

vi.setConfig({ testTimeout: 60_000 });

/** Somebody who has the key of one listener, and its lease. */
let test: TestDatabase;
let folder: TempFolder;
let plane: ControlPlaneServer;
let attacker: ListenerPeer;
let epoch: number;
let own: { id: string; latest_revision_id: string };
let foreign: { id: string; latest_revision_id: string };
beforeAll(async () => {
  [test, folder] = await Promise.all([createTestDatabase(), createTempFolder("listener-attacks")]);
  plane = await startControlPlane({ databaseUrl: test.url, folder: folder.path });
  attacker = await ListenerPeer.make(plane);
  const other = await ListenerPeer.make(plane);
  [own, foreign] = [await attacker.deploy(), await other.deploy()];
  epoch = await attacker.takeLease();
});
afterAll(async () => {
  await plane?.stop();
  await test?.drop();
  await folder?.remove();
});

const now = () => new Date().toISOString();
const metric = (more: object) => ({
  metrics: {
    until: null,
    items: [
      {
        ...{ deployment_id: own.id, at: now(), cpu: 1, memory_bytes: 1 },
        ...{ requests: 1, errors: 1, busy_ms: 1 },
        ...more,
      },
    ],
  },
});
const instanceOf = (of: typeof own, more: object = {}) => ({
  ...{
    id: randomUUID(),
    deployment_id: of.id,
    revision_id: of.latest_revision_id,
    state: "ready",
    attempt: 1,
  },
  ...{ tracing_key_id: null, started_at: now(), ready_at: null, drain_since: null, stop_since: null },
  ...{ exited_at: null, exit_kind: null, exit_detail: null },
  ...more,
});
const lines = (of: typeof own, more: object) => ({
  logs: {
    ...{ after: 0, upto: 1 },
    items: [
      {
        ...{ deployment_id: of.id, revision_id: of.latest_revision_id, kind: "deploy", at: now() },
        ...{ level: "INFO", message: "a line", run_id: null, origin: null },
        ...more,
      },
    ],
  },
});

describe("nonsense is refused, and is no failure of the platform", () => {
  const cases: [string, () => object][] = [
    ["memory beyond every number", () => metric({ memory_bytes: 1e300 })],
    ["memory below nothing", () => metric({ memory_bytes: -1 })],
    ["more requests than fit", () => metric({ requests: 2 ** 40 })],
    ["more errors than fit", () => metric({ errors: 2 ** 31 })],
    ["endless work", () => metric({ busy_ms: 1e308 })],
    ["a processor of 1e308", () => metric({ cpu: 1e308 })],
    ["a time before there was one", () => metric({ at: "0000-01-01T00:00:00Z" })],
    ["an attempt beyond every number", () => ({ instances: [instanceOf(own, { attempt: 2 ** 31 })] })],
    [
      "a start in the year 0",
      () => ({ instances: [instanceOf(own, { started_at: "0000-01-01T00:00:00Z" })] }),
    ],
    ["a line of the year 0", () => lines(own, { at: "0000-01-01T00:00:00Z" })],
    ["a NUL", () => lines(own, { message: "a\u0000b" })],
    ["half a character", () => lines(own, { message: "a\ud800b" })],
    ["a NUL as a run", () => lines(own, { run_id: "\u0000" })],
    ["an id that is none", () => lines(own, { deployment_id: "'; drop table runs; --" })],
    ["a cursor beyond every number", () => ({ logs: { after: 0, upto: 1e30, items: [] } })],
    ["a number beyond every number", () => ({ number: 1e30 })],
    ["an epoch of another kind", () => ({ epoch: 1.5 })],
    ["too many lines", () => ({ logs: { after: 0, upto: 0, items: Array(501).fill({}) } })],
  ];
  it.each(cases)("%s", async (_what, told) => {
    const { status, body } = await attacker.report(epoch, told());
    expect([status, JSON.stringify(body).length > 0]).toEqual([422, true]);
  });

  it.each([
    { api_key: "a\nb", authorization: null, tenant_id: null },
    { api_key: null, authorization: "Bearer \u{1f600}", tenant_id: null },
    { api_key: null, authorization: null, tenant_id: "\u0000" },
  ])("a credential that is no header %#", async (credential) => {
    expect((await attacker.call("POST", "/callers", credential)).status).toBe(422);
  });

  it.each(["9".repeat(400), "-1", "x", "1e400"])("the epoch %s of an archive", async (text) => {
    const path = `/revisions/${own.latest_revision_id}/archive?epoch=${text}`;
    expect((await attacker.call("GET", path)).status).toBe(422);
  });
});

it("takes the same server and the same step twice in one report as one", async () => {
  const server = instanceOf(own);
  const [step] = metric({ requests: 7 }).metrics.items;
  const items = [step, { ...step, deployment_id: own.id.toUpperCase() }];
  const told = { instances: [server, { ...server, id: server.id.toUpperCase() }] };
  const { status } = await attacker.report(epoch, { ...told, metrics: { until: null, items } });
  expect(status).toBe(200);
  const { rows } = await raw<{ servers: number; steps: number }>`
    select (select count(*)::int from deployment_instances where deployment_id = ${own.id}) as servers,
      (select count(*)::int from deployment_metrics where deployment_id = ${own.id} and requests = 7) as steps`.execute(
    test.database.sql,
  );
  expect(rows).toEqual([{ servers: 1, steps: 1 }]);
});

it("stores no step of days to come: it would never grow old", async () => {
  const { status } = await attacker.report(epoch, metric({ at: "9000-01-01T00:00:00Z" }));
  expect(status).toBe(200);
  const { rows } = await raw`select 1 from deployment_metrics where at > now() + interval '2 days'`.execute(
    test.database.sql,
  );
  expect(rows).toEqual([]);
});

it("changes no row of another listener, whatever it names", async () => {
  const { sql } = test.database;
  const instance = instanceOf(foreign);
  await raw`insert into deployment_instances (id, deployment_id, revision_id, runtime, state, attempt, port, log_path,
    database_hash) values (${instance.id}, ${foreign.id}, ${foreign.latest_revision_id}, 'remote', 'ready', 1, 0, '', '')`.execute(
    sql,
  );
  const seen = async () =>
    (
      await raw`select (select to_jsonb(d) from deployments d where id = ${foreign.id}) as deployment,
        (select to_jsonb(r) from revisions r where id = ${foreign.latest_revision_id}) as revision,
        (select jsonb_agg(to_jsonb(i)) from deployment_instances i where deployment_id = ${foreign.id}) as instances,
        (select jsonb_agg(to_jsonb(e)) from revision_events e where revision_id = ${foreign.latest_revision_id}) as events,
        (select count(*) from deployment_logs where deployment_id = ${foreign.id}) as lines,
        (select count(*) from deployment_metrics where deployment_id = ${foreign.id}) as steps`.execute(sql)
    ).rows;
  const before = await seen();
  const revision_id = foreign.latest_revision_id;
  const told = {
    ...lines(foreign, { message: "a lie" }),
    deployments: [
      {
        ...{ id: foreign.id, url: "http://evil.example.com", database_ready: true, switched_at: null },
        ...{ active_revision_id: revision_id, previous_revision_id: null },
      },
    ],
    revisions: [
      {
        ...{ id: revision_id, status: "DEPLOYED", status_message: "a lie", condition: null, failure: null },
        ...{ progress: 100, repo_commit_sha: null, uses_own_auth: true },
        ...{ image_reference: null, image_digest: null },
      },
    ],
    instances: [
      { ...instance, state: "exited" },
      // Its own deployment with a server or a revision of another.
      { ...instance, deployment_id: own.id, revision_id: own.latest_revision_id, state: "exited" },
      instanceOf(own, { revision_id }),
    ],
    events: {
      ...{ after: 0, upto: 1 },
      items: [{ revision_id, kind: "lie", status: null, message: "a lie", created_at: now() }],
    },
    metrics: metric({ deployment_id: foreign.id }).metrics,
  };
  expect((await attacker.report(epoch, told)).status).toBe(200);
  expect(await seen()).toEqual(before);
  for (const part of ["secrets", "source"]) {
    const given = await attacker.call("POST", `/revisions/${revision_id}/${part}`, { epoch });
    expect([given.status, given.headers.get("x-error-code")]).toEqual([404, "revision.not_found"]);
  }
});

it("names no revision of another deployment as the one that serves", async () => {
  const told = {
    deployments: [
      {
        ...{ id: own.id, url: "http://127.0.0.1:9", database_ready: true, switched_at: null },
        ...{ active_revision_id: foreign.latest_revision_id, previous_revision_id: null },
      },
    ],
  };
  expect((await attacker.report(epoch, told)).status).toBe(200);
  const { body } = await plane.call<{ active_revision_id: string | null }>(
    "GET",
    `/v2/deployments/${own.id}`,
  );
  expect(body.active_revision_id).toBeNull();
});
