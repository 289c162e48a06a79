import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";

let plane: ControlPlaneServer;
let database: TestDatabase;
let folder: TempFolder;
beforeAll(async () => {
  folder = await createTempFolder("reconciled");
  database = await createTestDatabase();
  plane = await startControlPlane({ databaseUrl: database.url, folder: folder.path });
});
afterAll(async () => {
  await plane?.stop();
  await database?.drop();
  await folder?.remove();
});

/** One whose build fails at once, because nothing listens there. */
const unreachable = (name: string, listener_id: string | null) => ({
  ...{ name, source: "github", secrets: [] },
  source_config: { repo_url: "http://127.0.0.1:9/x.git", listener_id },
  source_revision_config: { repo_ref: "main", graph_config_path: "langgraph.json" },
});
const post = (body: unknown) => plane.call<{ id: string }>("POST", "/v2/deployments", body);

it("lists what a listener starts, or what is started here", async () => {
  const listener = await plane.call<{ id: string }>("POST", "/v2/listeners", {
    ...{ compute_type: "k8s", compute_id: "another-cluster", compute_config: {} },
  });
  const { body: remote } = await post(unreachable("reconciled-remote", listener.body.id));
  const { body: local } = await post(unreachable("reconciled-local", null));
  const ids = async (path: string) =>
    (await plane.call<{ resources: { id: string }[] }>("GET", path)).body.resources.map(({ id }) => id);
  const found = (asked: string) => ids(`/v2/deployments?name_contains=reconciled&remote_reconciled=${asked}`);
  expect([await found("true"), await found("false")]).toEqual([[remote.id], [local.id]]);
  for (const { id, isRemote } of [
    { id: remote.id, isRemote: true },
    { id: local.id, isRemote: false },
  ]) {
    const revisions = (asked: boolean) => ids(`/v2/deployments/${id}/revisions?remote_reconciled=${asked}`);
    expect([(await revisions(isRemote)).length, await revisions(!isRemote)]).toEqual([1, []]);
  }
});

it("takes a namespace that the listener's configuration names, once, and no other", async () => {
  const listenerWith = async (compute_type: string, k8s_namespaces?: string[]) => {
    const compute_config = k8s_namespaces ? { k8s_namespaces } : {};
    const body = { compute_type, compute_id: randomUUID(), compute_config };
    return (await plane.call<{ id: string }>("POST", "/v2/listeners", body)).body.id;
  };
  type Answer = { detail: string; id: string; source_config: { listener_config: object | null } };
  const create = (listener_id: string | null, listener_config: object | null) =>
    plane.call<Answer>("POST", "/v2/deployments", {
      ...{ name: `placed-${randomUUID()}`, source: "external_docker", secrets: [] },
      source_config: { listener_id, listener_config },
      source_revision_config: { image_uri: "example.com/image:1" },
    });
  const placed = { k8s_namespace: "agents" };
  const listed = await listenerWith("k8s", ["agents", "others"]);
  const made = await create(listed, placed);
  expect([made.status, made.body.source_config.listener_config]).toEqual([201, placed]);
  const move = (listener_config: object) =>
    plane.call<Answer>("PATCH", `/v2/deployments/${made.body.id}`, { source_config: { listener_config } });
  for (const same of [placed, {}, { k8s_namespace: null }]) {
    const kept = await move(same);
    expect([kept.status, kept.body.source_config.listener_config]).toEqual([200, placed]);
  }
  const moved = await move({ k8s_namespace: "others" });
  expect([moved.status, moved.body.detail]).toEqual([400, expect.stringContaining("cannot be changed")]);

  for (const [listener, words] of [
    [await listenerWith("k8s"), /k8s_namespaces .*names none.*PATCH \/v2\/listeners/],
    [await listenerWith("k8s", ["others"]), /it has others.*TREADLE_KUBERNETES_NAMESPACES/],
    [await listenerWith("docker", ["agents"]), /TREADLE_RUNTIME=kubernetes/],
  ] as const) {
    const refused = await create(listener, placed);
    expect([refused.status, refused.body.detail]).toEqual([400, expect.stringMatching(words)]);
  }
  expect((await create(listed, { k8s_namespace: null })).status).toBe(201);

  // The list is asked when a deployment is made: one that is there can still be changed, and stays where it is.
  const compute_config = { k8s_namespaces: ["others"] };
  expect((await plane.call("PATCH", `/v2/listeners/${listed}`, { compute_config })).status).toBe(200);
  expect((await create(listed, placed)).status).toBe(400);
  const renamed = await plane.call<Answer>("PATCH", `/v2/deployments/${made.body.id}`, {
    display_name: "Still there",
  });
  expect([renamed.status, renamed.body.source_config.listener_config]).toEqual([200, placed]);
  expect((await create(listed, { k8s_namespace: "agents", other: 1 })).status).toBe(422);
});

describe("secret_references", () => {
  type Answer = { detail: string; id: string; secret_references: object[] | null };
  const references = [{ name: "KEY", secret_name: "keys", secret_key: "openai" }];
  const listenerWith = async (compute_type: string) => {
    const body = { compute_type, compute_id: `of-${compute_type}`, compute_config: {} };
    return (await plane.call<{ id: string }>("POST", "/v2/listeners", body)).body.id;
  };
  const create = (listener_id: string, secret_references: object[], secrets: object[] = []) =>
    plane.call<Answer>("POST", "/v2/deployments", {
      ...{ name: `with-references-${randomUUID()}`, source: "external_docker", secrets, secret_references },
      source_config: { listener_id },
      source_revision_config: { image_uri: "example.com/image:1" },
    });

  it("are for listeners with a cluster, shown, changed and taken away", async () => {
    const made = await create(await listenerWith("k8s"), references);
    expect([made.status, made.body.secret_references]).toEqual([201, references]);
    const path = `/v2/deployments/${made.body.id}`;
    const clash = await plane.call("PATCH", path, { secrets: [{ name: "KEY", value: "x" }] });
    expect(clash.status).toBe(422);
    const kept = await plane.call<Answer>("PATCH", path, { secrets: [{ name: "OTHER", value: "x" }] });
    expect([kept.status, kept.body.secret_references]).toEqual([200, references]);
    const none = await plane.call<Answer>("PATCH", path, { secret_references: [] });
    expect([none.status, none.body.secret_references]).toEqual([200, null]);
  });

  it("are refused where a listener has no cluster, and with names that the platform sets", async () => {
    const elsewhere = await create(await listenerWith("docker"), references);
    expect([elsewhere.status, elsewhere.body.detail]).toEqual([
      400,
      expect.stringMatching(/the listener of-docker does not run .*Send the values as secrets/),
    ]);
    const cluster = await plane.call<{ id: string }>("POST", "/v2/listeners", {
      ...{ compute_type: "k8s", compute_id: "of-names", compute_config: {} },
    });
    for (const over of [{ name: "DATABASE_URL" }, { secret_name: "../x" }, { secret_key: "a/b" }])
      expect((await create(cluster.body.id, [{ ...references[0], ...over }])).status).toBe(422);
  });
});
