import { afterAll, beforeAll, expect, it } from "vitest";
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

it("refuses what only a cluster has, which a listener does not read", async () => {
  const listener = await plane.call<{ id: string }>("POST", "/v2/listeners", {
    ...{ compute_type: "k8s", compute_id: "of-references", compute_config: {} },
  });
  const remote = (listener_config: object | null, secret_references: object[]) =>
    plane.call<{ detail: string }>("POST", "/v2/deployments", {
      ...{ name: "remote-image", source: "external_docker", secrets: [], secret_references },
      source_config: { listener_id: listener.body.id, listener_config },
      source_revision_config: { image_uri: "example.com/image:1" },
    });
  const named = await remote(null, [{ name: "KEY", secret_name: "keys", secret_key: "openai" }]);
  expect([named.status, named.body.detail]).toEqual([
    400,
    expect.stringContaining("send the values as secrets"),
  ]);
  const placed = await remote({ k8s_namespace: "agents" }, []);
  expect([placed.status, placed.body.detail]).toEqual([
    400,
    expect.stringContaining("TREADLE_KUBERNETES_NAMESPACE"),
  ]);
  expect((await remote({ k8s_namespace: null }, [])).status).toBe(201);
});
