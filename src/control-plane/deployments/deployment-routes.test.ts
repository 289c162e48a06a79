import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTempFolder, type TempFolder } from "../../../tests/support/components/temp-folder.ts";
import { waitUntil } from "../../../tests/support/components/wait-until.ts";
import { type ControlPlaneServer, startControlPlane } from "../../../tests/support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../../../tests/support/database.ts";
import type { DeploymentBody, RevisionBody } from "../../../tests/support/deployments.ts";

let plane: ControlPlaneServer;
let folder: TempFolder;
let database: TestDatabase;
const unknown = "00000000-0000-4000-8000-00000000abcd";

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await createTempFolder("deployment-routes");
  plane = await startControlPlane({
    databaseUrl: database.url,
    folder: folder.path,
    settings: { allowLocalRepositories: false },
  });
});

afterAll(async () => {
  await plane?.stop();
  await database?.drop();
  await folder?.remove();
});

/** A deployment that waits for its source, so nothing is built. */
const waiting = (name: string, more: Record<string, unknown> = {}) => ({
  ...{ name, source: "internal_source", source_config: { deployment_type: "dev" }, secrets: [] },
  source_revision_config: {},
  ...more,
});
/** A deployment whose build fails at once, because nothing listens there. */
const unreachable = (name: string, more: Record<string, unknown> = {}) => ({
  ...waiting(name),
  source: "github",
  source_config: { repo_url: "http://127.0.0.1:9/x.git" },
  source_revision_config: { repo_ref: "main", graph_config_path: "langgraph.json" },
  ...more,
});
const post = (body: unknown, headers = {}) =>
  plane.call<DeploymentBody>("POST", "/v2/deployments", body, headers);
const detail = (answer: { body: unknown }) => JSON.stringify(answer.body);

describe("201", () => {
  it("creates one without a revision while there is nothing to build", async () => {
    const { status, body } = await post(waiting("empty", { secrets: [{ name: "KEY", value: "v" }] }));
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...{ name: "empty", latest_revision_id: null, active_revision_id: null, status: "AWAITING_DATABASE" },
      ...{ tenant_id: plane.workspaceId, secrets: [{ name: "KEY", value: "********" }] },
      source_config: { custom_url: `${plane.url}/d/${body.slug}` },
    });
    const rows = await database.database.query<object>(
      { name: "test_8", text: "select secrets_sealed from deployments" },
      [],
    );
    expect(JSON.stringify(rows)).not.toContain('"v"');
  });

  it("names what it runs on: the platform's own runtime, or a listener", async () => {
    const { body: here } = await post(waiting("here"));
    expect(here).toMatchObject({ runs_on: { kind: "process", name: null }, latest_revision_status: null });
    const { body: listener } = await plane.call<{ id: string }>("POST", "/v2/listeners", {
      ...{ compute_type: "k8s", compute_id: "the other network", compute_config: {} },
    });
    const source_config = { deployment_type: "dev", listener_id: listener.id };
    const { body: there } = await post(waiting("there", { source_config }));
    expect(there).toMatchObject({ runs_on: { kind: "listener", name: "the other network" } });
    const { body: listed } = await plane.call<{ resources: DeploymentBody[] }>("GET", "/v2/deployments");
    expect(listed.resources.find(({ name }) => name === "there")).toMatchObject({ runs_on: there.runs_on });
  });

  it("takes the config path under both names", async () => {
    const body = unreachable("alias", {
      source_revision_config: { langgraph_config_path: "apps/a/langgraph.json" },
    });
    const made = await post(body);
    const path = "apps/a/langgraph.json";
    expect(made.body.source_revision_config).toMatchObject({
      graph_config_path: path,
      langgraph_config_path: path,
    });
    expect(made.body.latest_revision_id).not.toBeNull();
  });

  it("answers the same again for the same Idempotency-Key", async () => {
    const headers = { "idempotency-key": "once" };
    const first = await post(waiting("idempotent"), headers);
    const second = await post(waiting("idempotent"), headers);
    expect(second.body.id).toBe(first.body.id);
    expect((await post(waiting("other"), headers)).status).toBe(422);
  });
});

describe("200", () => {
  it("lists the exact name first, by pages, and by filters", async () => {
    for (const name of ["find", "find-2", "a-find"]) await post(waiting(name));
    type Page = { resources: DeploymentBody[]; offset: number };
    const list = async (query: string) =>
      (await plane.call<Page>("GET", `/api-host/v2/deployments?${query}`)).body;
    const found = await list("name_contains=find");
    expect(found.resources[0]!.name).toBe("find");
    expect(found.resources.map(({ name }) => name).sort()).toEqual(["a-find", "find", "find-2"]);
    const page = await list("name_contains=find&limit=2&offset=1");
    expect(page.offset).toBe(3);
    expect(page.resources).toHaveLength(2);
    expect((await list("name=find-2")).resources).toHaveLength(1);
    const [one] = found.resources;
    expect((await list(`deployment_ids=${one!.id},${unknown}`)).resources.map(({ id }) => id)).toEqual([
      one!.id,
    ]);
    expect((await list(`url=${encodeURIComponent(one!.url)}`)).resources.map(({ id }) => id)).toEqual([
      one!.id,
    ]);
    expect((await list("deployment_type=prod")).resources).toEqual([]);
    expect((await list("status=READY")).resources).toEqual([]);
  });

  it("changes what needs no revision without one, and secrets with one", async () => {
    const { body } = await post(unreachable("changes"));
    const path = `/v2/deployments/${body.id}`;
    const renamed = await plane.call<DeploymentBody>("PATCH", path, {
      ...{ display_name: "Changes", tracked_repo_ref: "next", source_config: { build_on_push: false } },
    });
    expect(renamed.body).toMatchObject({
      display_name: "Changes",
      latest_revision_id: body.latest_revision_id,
    });
    const secrets = await plane.call<DeploymentBody>("PATCH", path, { secrets: [{ name: "A", value: "1" }] });
    expect(secrets.body.latest_revision_id).not.toBe(body.latest_revision_id);
    const tier = await plane.call<DeploymentBody>("PATCH", `${path}/deployment-tier`, {
      deployment_tier: "DEDICATED_M",
    });
    expect(tier.body).toMatchObject({ deployment_tier: "DEDICATED_M" });
    expect(tier.body.latest_revision_id).not.toBe(secrets.body.latest_revision_id);
    expect((await plane.call("PATCH", `${path}/resource-tiers`, {})).status).toBe(422);
    const list = await plane.call<{ resources: RevisionBody[] }>("GET", `${path}/revisions`);
    expect(list.body.resources.map(({ number }) => number)).toEqual([3, 2, 1]);
  });

  it("counts free ones", async () => {
    await post(waiting("free", { source_config: { deployment_type: "dev_free" } }));
    expect((await plane.call("GET", "/v2/deployments/free-count")).body).toEqual({ count: 1 });
  });

  it("deletes several, and says which were not there", async () => {
    const ids = await Promise.all(
      ["bulk-1", "bulk-2"].map(async (name) => (await post(waiting(name))).body.id),
    );
    const some = await plane.call(
      "DELETE",
      `/v2/deployments?deployment_ids=${ids[0]}&deployment_ids=${unknown}`,
    );
    expect(some).toMatchObject({ status: 207, body: { deleted: [ids[0]], not_found: [unknown] } });
    expect((await plane.call("DELETE", `/v2/deployments?deployment_ids=${ids[1]}`)).status).toBe(200);
    expect((await plane.call("DELETE", `/v2/deployments?deployment_ids=${ids[1]}`)).status).toBe(404);
  });
});

describe("204", () => {
  it("deletes, frees the name, and forces only what is deleted", async () => {
    const { body } = await post(waiting("goes"));
    const path = `/v2/deployments/${body.id}`;
    expect((await plane.call("DELETE", `${path}?force=true`)).status).toBe(400);
    expect((await plane.call("DELETE", path)).status).toBe(204);
    expect((await plane.call("DELETE", path)).status).toBe(404);
    expect((await plane.call("DELETE", `${path}?force=true`)).status).toBe(204);
    // Purged now, and not in the next round of the maintenance.
    await waitUntil(async () => (await plane.call("DELETE", `${path}?force=true`)).status === 404, {
      what: "the deployment to be purged",
      timeoutMs: 20_000,
    });
    expect((await post(waiting("goes"))).status).toBe(201);
  });
});

describe("400", () => {
  it("refuses repositories of the server's own disk where that is not allowed", async () => {
    for (const repo_url of ["file:///etc", "/srv/repositories/x"]) {
      const answer = await post(unreachable("local", { source_config: { repo_url } }));
      expect(answer.status).toBe(400);
      expect(detail(answer)).toContain("loopback");
    }
  });

  it("refuses changes of what cannot change, and an unknown integration", async () => {
    const { body } = await post(unreachable("fixed"));
    const path = `/v2/deployments/${body.id}`;
    const moved = await plane.call("PATCH", path, {
      source_config: { repo_url: "https://example.com/other.git" },
    });
    expect(moved.status).toBe(400);
    const uploaded = await post(waiting("uploaded"));
    const half = await plane.call("PATCH", `/v2/deployments/${uploaded.body.id}`, {
      source_config: { repo_url: "https://example.com/other.git" },
    });
    expect(half.status).toBe(400);
    expect(detail(half)).toContain("revision_source");
    const answer = await post(
      unreachable("lost", {
        source_config: { repo_url: "https://example.com/x.git", integration_id: unknown },
      }),
    );
    expect(answer.status).toBe(400);
    const tag = {
      source_config: { repo_url: "https://example.com/x.git", build_on_push: true },
      source_revision_config: { repo_ref: "refs/tags/v1" },
    };
    expect((await post(unreachable("tagged", tag))).status).toBe(400);
  });

  it("refuses addresses that only this machine can reach, where those are not allowed", async () => {
    const repo_url = "http://169.254.169.254/latest/meta-data.git";
    const answer = await post(unreachable("metadata", { source_config: { repo_url } }));
    expect(answer.status).toBe(400);
    expect(detail(answer)).toContain("reserved address");
    const uploaded = await post(waiting("metadata"));
    const switched = await plane.call("PATCH", `/v2/deployments/${uploaded.body.id}`, {
      revision_source: "github",
      source_config: { repo_url },
    });
    expect(switched.status).toBe(400);
    expect(detail(switched)).toContain("reserved address");
  });

  it("refuses secrets of a cluster, and a listener nobody made", async () => {
    const secret_references = [{ name: "KEY", secret_name: "keys", secret_key: "openai" }];
    const answer = await post(waiting("cluster-secrets", { secret_references }));
    expect([answer.status, detail(answer)]).toEqual([
      ...[400, expect.stringContaining("TREADLE_RUNTIME=kubernetes. Send the values as secrets")],
    ]);
    const { body } = await post(waiting("without-references"));
    const change = await plane.call("PATCH", `/v2/deployments/${body.id}`, { secret_references });
    expect(change.status).toBe(400);
    const lost = await post(waiting("lost-listener", { source_config: { listener_id: unknown } }));
    expect([lost.status, detail(lost)]).toEqual([400, expect.stringContaining("Listener ID")]);
  });

  it("has no app to install, and so nothing to pick", async () => {
    for (const host of ["github", "forge-github"]) {
      const link = await plane.call("POST", `/v2/integrations/${host}/installation-link`);
      expect([link.status, detail(link)]).toEqual([400, expect.stringContaining("/v1/integrations/github")]);
      const session = `/v2/integrations/${host}/picker-sessions/abc`;
      expect((await plane.call("GET", session)).status).toBe(404);
      expect((await plane.call("POST", `${session}/selection`)).status).toBe(404);
      expect((await plane.call("GET", `/v2/integrations/${host}/installations`)).body).toEqual([]);
    }
  });

  it("has no registry to push to", async () => {
    const source = await post(waiting("tarball-only"));
    const wrong = await plane.call("POST", `/v2/deployments/${source.body.id}/push-token`);
    expect(detail(wrong)).toContain("only available for 'internal_docker' source deployments");
    const docker = await post(waiting("docker-one", { source: "internal_docker" }));
    expect((await plane.call("POST", `/v2/deployments/${docker.body.id}/push-token`)).status).toBe(400);
  });
});

describe("401 and 403", () => {
  it("asks for a key, and keeps viewers from changing things", async () => {
    expect((await fetch(`${plane.url}/v2/deployments`)).status).toBe(401);
    const key = await plane.call<{ key: string }>("POST", "/v2/api-keys", { name: "looker", role: "viewer" });
    const headers = { "x-api-key": key.body.key };
    expect((await plane.call("GET", "/v2/deployments", undefined, headers)).status).toBe(200);
    expect((await post(waiting("viewer"), headers)).status).toBe(403);
    const editor = await plane.call<{ key: string }>("POST", "/v2/api-keys", {
      name: "writer",
      role: "editor",
    });
    const made = await post(waiting("edited"), { "x-api-key": editor.body.key });
    expect(made.status).toBe(201);
    const removal = await plane.call("DELETE", `/v2/deployments/${made.body.id}`, undefined, {
      "x-api-key": editor.body.key,
    });
    expect(removal.status).toBe(403);
  });
});

describe("404", () => {
  it("knows no other ids and no other workspace's", async () => {
    const answer = await plane.call("GET", `/v2/deployments/${unknown}`);
    expect(answer).toMatchObject({ status: 404, body: { detail: `Deployment ID ${unknown} not found.` } });
    const { body } = await post(waiting("mine"));
    expect((await plane.call("GET", `/v2/deployments/${body.id}/revisions/${unknown}`)).status).toBe(404);
    const other = await plane.call<{ id: string }>("POST", "/v2/workspaces", { name: "Other" });
    const headers = { "x-tenant-id": other.body.id };
    for (const [method, path] of [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["GET", "/revisions"],
      ["GET", "/logs"],
      ["POST", "/upload-url"],
    ] as const) {
      const sent = method === "PATCH" ? {} : undefined;
      const answer = await plane.call(method, `/v2/deployments/${body.id}${path}`, sent, headers);
      expect([path, answer.status]).toEqual([path, 404]);
    }
    expect(
      (await plane.call<{ resources: unknown[] }>("GET", "/v2/deployments", undefined, headers)).body
        .resources,
    ).toEqual([]);
    expect((await post(waiting("mine"), headers)).status).toBe(201);
  });

  it("serves nothing at an unknown address, and says why where nothing is deployed yet", async () => {
    expect((await fetch(`${plane.url}/d/no-such-thing/ok`)).status).toBe(404);
    const { body } = await post(waiting("silent"));
    const answer = await fetch(`${body.url}/ok`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ detail: expect.stringContaining("no revision yet") });
  });
});

describe("409", () => {
  it("keeps names unique in a workspace", async () => {
    await post(waiting("taken"));
    expect(await post(waiting("taken"))).toMatchObject({
      status: 409,
      body: { detail: "A deployment named 'taken' already exists." },
    });
  });
});

describe("422", () => {
  it.each([
    ["a name", { ...waiting("x"), name: " " }],
    ["a source", { ...waiting("x"), source: "svn" }],
    ["a source_config", { name: "x", source: "github", source_revision_config: {} }],
    ["a deployment type", waiting("x", { source_config: { deployment_type: "huge" } })],
    [
      "a repository address",
      unreachable("x", { source_config: { repo_url: "https://user:token@example.com/x.git" } }),
    ],
    [
      "a repository address of another kind",
      unreachable("x", { source_config: { repo_url: "ext::sh -c id" } }),
    ],
    ["a ref", unreachable("x", { source_revision_config: { repo_ref: "--upload-pack=id" } })],
    [
      "a config path",
      unreachable("x", { source_revision_config: { graph_config_path: "../../etc/passwd.json" } }),
    ],
    [
      "an install command",
      unreachable("x", {
        source_config: { repo_url: "https://example.com/x.git", install_command: "npm ci; id" },
      }),
    ],
    ["a reserved secret", waiting("x", { secrets: [{ name: "POSTGRES_URI", value: "x" }] })],
    ["a secret's name", waiting("x", { secrets: [{ name: "A-B", value: "x" }] })],
    [
      "a secret given twice",
      waiting("x", {
        secrets: [
          { name: "A", value: "x" },
          { name: "A", value: "y" },
        ],
      }),
    ],
  ])("refuses %s that cannot be", async (_what, body) => {
    const answer = await post(body);
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ detail: [{ loc: expect.any(Array), msg: expect.any(String) }] });
  });

  it.each([
    ["github", "repo_url", "source_config", {}],
    ["internal_docker", "image_uri", "source_revision_config", {}],
    ["github", "repo_url", "source_config", { source_config: { repo_url: "ext::sh -c id" } }],
  ])("refuses a change to the source %s without a proper %s", async (source, field, part, more) => {
    const { body } = await post(waiting(`to-${source}-${field}-${JSON.stringify(more).length}`));
    const path = `/v2/deployments/${body.id}`;
    const answer = await plane.call("PATCH", path, { revision_source: source, ...more });
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", part, field] }] } });
    const after = await plane.call<DeploymentBody>("GET", path);
    expect(after.body).toMatchObject({ latest_revision_id: null, source_config: { repo_url: null } });
  });

  it("refuses a change to an archive that is not named", async () => {
    const { body } = await post(unreachable("to-archive"));
    const answer = await plane.call("PATCH", `/v2/deployments/${body.id}`, {
      revision_source: "internal_source",
    });
    const loc = ["body", "source_revision_config", "source_tarball_path"];
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc }] } });
  });

  it("refuses ids that are none", async () => {
    expect((await plane.call("GET", "/v2/deployments/not-a-uuid")).status).toBe(422);
  });
});
