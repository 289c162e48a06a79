import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { GitRepository } from "../support/components/git-repository.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentSite, startDeploymentSite } from "../support/deployment-site.ts";
import {
  type DeploymentBody,
  deploy,
  gitDeployment,
  type RevisionBody,
  revisionDone,
} from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

let site: DeploymentSite;
let plane: DeploymentSite["plane"];
let git: DeploymentSite["git"];
let database: DeploymentSite["database"];
let repository: GitRepository;
let deployment: DeploymentBody;
let first: RevisionBody;

const sourceConfig = () => ({ repo_url: repository.url, install_command: quickInstall });
const patch = (body: unknown) =>
  plane.call<DeploymentBody>("PATCH", `/v2/deployments/${deployment.id}`, body);
const version = async () =>
  (await fetch(`${deployment.url}/version`)).json() as Promise<{ answer: string; suffix: string | null }>;
const revisions = async (query = "") =>
  (
    await plane.call<{ resources: RevisionBody[] }>(
      "GET",
      `/v2/deployments/${deployment.id}/revisions${query}`,
    )
  ).body.resources;

beforeAll(async () => {
  site = await startDeploymentSite("revisions", {
    settings: { bakeMs: 1_000, healthMs: 60_000, rollbackMs: 20_000 },
  });
  ({ plane, git, database } = site);
  repository = await git.createRepository("quick", quickProject("one"));
  const body = gitDeployment("quick", repository.url, {
    source_config: sourceConfig(),
    secrets: [{ name: "SUFFIX", value: "-first-secret" }],
  });
  ({ deployment, revision: first } = await deploy(plane, body));
  expect(first.status).toBe("DEPLOYED");
});

afterAll(async () => {
  await site?.stop();
});

describe("the life of a deployment", () => {
  it("serves at its address, shows its timeline, and hides its secrets", async () => {
    expect(await version()).toEqual({ answer: "one", suffix: "-first-secret" });
    const { body } = await plane.call<DeploymentBody>("GET", `/v2/deployments/${deployment.id}`);
    expect(body).toMatchObject({
      status: "READY",
      active_revision_id: first.id,
      latest_revision_id: first.id,
      secrets: [{ name: "SUFFIX", value: "********" }],
      source_config: { custom_url: deployment.url },
      source_revision_config: {
        graph_config_path: "langgraph.json",
        langgraph_config_path: "langgraph.json",
      },
    });
    const statuses = first.events.filter(({ kind }) => kind === "status").map(({ status }) => status);
    expect(statuses).toEqual([
      "CREATING",
      "AWAITING_BUILD",
      "BUILDING",
      "AWAITING_DEPLOY",
      "DEPLOYING",
      "DEPLOYED",
    ]);
  });

  it("gives its server a scrubbed environment and a database of its own", async () => {
    const environment = (await (await fetch(`${deployment.url}/environment`)).json()) as Record<
      string,
      string
    >;
    expect(environment).toMatchObject({
      LANGSMITH_HOST_PROJECT_ID: deployment.id,
      LANGSMITH_HOST_REVISION_ID: first.id,
      LANGSMITH_DEPLOYMENT_NAME: "quick",
      LANGSMITH_TENANT_ID: plane.workspaceId,
      LANGSMITH_LANGGRAPH_GIT_REF: "main",
      LANGSMITH_LANGGRAPH_GIT_REF_SHA: await repository.resolve("main"),
      SUFFIX: "-first-secret",
    });
    expect(new URL(environment.DATABASE_URL!).pathname).toMatch(/^\/treadle_d_/);
    expect(JSON.stringify(environment)).not.toContain(plane.apiKey);
    const allowed =
      /^(PATH|PWD|NODE_COMPILE_CACHE|LANG|LC_ALL|TZ|HOME|TMPDIR|PORT|NODE_ENV|SUFFIX|LOG_JSON|DATABASE_UR[LI]|POSTGRES_URI|TREADLE_.*|LANG(SMITH|CHAIN|GRAPH)_.*|BG_JOB_.*|.*_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_.*|REQUESTS_CA_BUNDLE|WATCHDOG.*)$/i;
    expect(Object.keys(environment).filter((name) => !allowed.test(name))).toEqual([]);
  });

  it("switches to a new revision without a failed request, with a stream open", {
    timeout: 90_000,
  }, async () => {
    await repository.commit(quickProject("two"), "Second");
    const stream = fetch(`${deployment.url}/slow`).then((response) => response.text());
    const failures: string[] = [];
    const answers = new Set<string>();
    let going = true;
    const ask = async () => {
      while (going) {
        const response = await fetch(`${deployment.url}/version`);
        if (response.status !== 200) failures.push(`${response.status} ${await response.text()}`);
        else answers.add(((await response.json()) as { answer: string }).answer);
        await pause(10);
      }
    };
    const load = Promise.all([ask(), ask(), ask(), ask()]);
    const { body, status } = await patch({ source_revision_config: { repo_ref: "main" } });
    expect(status).toBe(200);
    expect(body.latest_revision_id).not.toBe(first.id);
    const done = await revisionDone(plane, deployment.id, body.latest_revision_id!);
    expect(done.status).toBe("DEPLOYED");
    await waitUntil(() => answers.has("two"), { what: "the new revision to answer", timeoutMs: 10_000 });
    // Past the moment in which the old server is stopped.
    await waitUntil(async () => (await liveInstances()) === 1, {
      what: "the old server to be gone",
      timeoutMs: 20_000,
    });
    going = false;
    await load;
    expect(failures).toEqual([]);
    expect([...answers].sort()).toEqual(["one", "two"]);
    expect((await stream).match(/^data: /gm)).toHaveLength(30);
  });

  async function liveInstances(): Promise<number> {
    const rows = await database.database.query<{ count: number }>(
      {
        name: "test_1",
        text: "select count(*)::int as count from deployment_instances where state <> 'exited'",
      },
      [],
    );
    return rows[0]!.count;
  }

  it("rolls back to an earlier revision without building, with its secrets", {
    timeout: 60_000,
  }, async () => {
    const changed = await patch({ secrets: [{ name: "SUFFIX", value: "-second-secret" }] });
    expect((await revisionDone(plane, deployment.id, changed.body.latest_revision_id!)).status).toBe(
      "DEPLOYED",
    );
    expect(await version()).toEqual({ answer: "two", suffix: "-second-secret" });
    const path = `/v2/deployments/${deployment.id}/revisions/${first.id}/redeploy`;
    const { status, body } = await plane.call<DeploymentBody>("POST", path);
    expect(status).toBe(200);
    const done = await revisionDone(plane, deployment.id, body.latest_revision_id!);
    expect(done.status).toBe("DEPLOYED");
    expect(done.source_revision_config.repo_commit_sha).toBe(first.source_revision_config.repo_commit_sha);
    expect(done.events.some(({ message }) => message.includes("nothing to do"))).toBe(true);
    expect(await version()).toEqual({ answer: "one", suffix: "-first-secret" });
  });

  it("keeps a secret whose mask is sent back, and refuses a mask without a value", {
    timeout: 60_000,
  }, async () => {
    const kept = await patch({
      secrets: [
        { name: "SUFFIX", value: "********" },
        { name: "OTHER", value: "x" },
      ],
    });
    expect(kept.status).toBe(200);
    expect((await revisionDone(plane, deployment.id, kept.body.latest_revision_id!)).status).toBe("DEPLOYED");
    expect((await version()).suffix).toBe("-first-secret");
    const refused = await patch({ secrets: [{ name: "UNKNOWN", value: "********" }] });
    expect(refused.status).toBe(400);
  });

  it("skips what a newer revision overtakes", { timeout: 90_000 }, async () => {
    const before = (await revisions("?limit=1"))[0]!.number;
    const made = await Promise.all(
      [1, 2, 3].map((index) =>
        patch({
          source_revision_config: { repo_ref: "main" },
          secrets: [{ name: "SUFFIX", value: `-${index}` }],
        }),
      ),
    );
    expect(made.map(({ status }) => status)).toEqual([200, 200, 200]);
    const all = (await revisions("?limit=10")).filter(({ number }) => number > before);
    expect(all).toHaveLength(3);
    const ends = await Promise.all(all.map(({ id }) => revisionDone(plane, deployment.id, id)));
    const statuses = ends.sort((a, b) => a.number - b.number).map(({ status }) => status);
    expect(statuses.at(-1)).toBe("DEPLOYED");
    expect(statuses).toContain("SKIPPED");
    expect(statuses.every((status) => status === "SKIPPED" || status === "DEPLOYED")).toBe(true);
  });

  it("passes WebSockets through", async () => {
    const created = await fetch(`${deployment.url}/threads`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    const { thread_id } = (await created.json()) as { thread_id: string };
    const socket = new WebSocket(`${deployment.url.replace("http", "ws")}/threads/${thread_id}/stream`);
    const answer = new Promise<string>((resolve, reject) => {
      socket.once("message", (data) => resolve(String(data)));
      socket.once("error", reject);
    });
    await new Promise((resolve) => socket.once("open", resolve));
    socket.send(JSON.stringify({ id: 1, method: "nonsense.method", params: {} }));
    expect(JSON.parse(await answer)).toMatchObject({ id: 1 });
    socket.close();
  });

  it("starts a server again that died, and says 503 with the reason meanwhile", {
    timeout: 60_000,
  }, async () => {
    // Long after the switch, as far as the rollback is concerned.
    await database.database.query<object>(
      {
        name: "test_2",
        text: "update deployments set switched_at = now() - interval '1 hour' where id = $1",
      },
      [deployment.id],
    );
    const before = await version();
    await fetch(`${deployment.url}/die`, { method: "POST" });
    const refused = await waitUntil(
      async () => {
        const response = await fetch(`${deployment.url}/version`);
        const text = await response.text();
        return response.status === 503 ? text : undefined;
      },
      { what: "a 503", timeoutMs: 10_000, intervalMs: 10 },
    );
    expect(JSON.parse(refused)).toHaveProperty("detail");
    await waitUntil(async () => (await fetch(`${deployment.url}/version`)).ok, {
      what: "the restart",
      timeoutMs: 30_000,
    });
    expect(await version()).toEqual(before);
  });

  it("is restarted without a lost request", { timeout: 60_000 }, async () => {
    const portOf = async () =>
      ((await (await fetch(`${deployment.url}/environment`)).json()) as { PORT: string }).PORT;
    const before = await portOf();
    const failures: string[] = [];
    let going = true;
    const ask = async () => {
      while (going) {
        const response = await fetch(`${deployment.url}/version`);
        const text = await response.text();
        if (response.status !== 200) failures.push(`${response.status} ${text}`);
        await pause(10);
      }
    };
    const load = Promise.all([ask(), ask()]);
    expect((await plane.call("POST", `/v2/deployments/${deployment.id}/restart`)).status).toBe(200);
    await waitUntil(async () => (await portOf()) !== before, { what: "the new server", timeoutMs: 40_000 });
    await waitUntil(async () => (await liveInstances()) === 1, {
      what: "the old server to be gone",
      timeoutMs: 20_000,
    });
    going = false;
    await load;
    expect(failures).toEqual([]);
  });

  it("is stopped, says so, holds new revisions back, and serves them once it is started", {
    timeout: 90_000,
  }, async () => {
    const path = `/v2/deployments/${deployment.id}`;
    const health = async () =>
      (await plane.call<{ health: { state: string; message: string } }>("GET", path)).body.health;
    const stream = await fetch(`${deployment.url}/slow`);
    const stopped = await plane.call<DeploymentBody & { desired_state: string }>("POST", `${path}/stop`);
    expect([stopped.status, stopped.body.desired_state]).toEqual([200, "stopped"]);
    const refused = await fetch(`${deployment.url}/version`);
    expect([refused.status, refused.headers.get("x-error-code")]).toEqual([503, "gateway.stopped"]);
    expect(await refused.text()).toContain(`POST ${path}/start`);
    // What was begun is finished first.
    expect((await stream.text()).match(/^data: /gm)).toHaveLength(30);
    await waitUntil(async () => (await liveInstances()) === 0, {
      what: "its server to end",
      timeoutMs: 20_000,
    });
    expect(await health()).toMatchObject({ state: "stopped", message: expect.stringMatching(/^Stopped/) });
    expect((await plane.call("POST", `${path}/restart`)).status).toBe(409);
    expect((await plane.call("POST", `${path}/stop`)).status).toBe(200);

    const { body } = await patch({ secrets: [{ name: "SUFFIX", value: "-while-stopped" }] });
    const held = await waitUntil(
      async () => {
        const { body: now } = await plane.call<RevisionBody>(
          "GET",
          `${path}/revisions/${body.latest_revision_id}`,
        );
        return now.events.some(({ kind }) => kind === "held") ? now : undefined;
      },
      { what: "the revision to wait", timeoutMs: 30_000 },
    );
    expect(held.status_message).toContain("deployed when the deployment is started");
    expect(await liveInstances()).toBe(0);

    expect((await plane.call("POST", `${path}/start`)).status).toBe(200);
    expect((await revisionDone(plane, deployment.id, held.id)).status).toBe("DEPLOYED");
    expect((await version()).suffix).toBe("-while-stopped");
    expect((await health()).state).not.toBe("stopped");
  });

  it("goes back by itself when the new revision dies right after the switch", {
    timeout: 90_000,
  }, async () => {
    const good = await version();
    await repository.commit({ "app.js": null, ...quickProject("bad") }, "Dies soon");
    await repository.commit(
      quickProject("bad", {
        "late.js": "",
        "graph.js": `setTimeout(() => { console.error("the battery is empty"); process.exit(3); }, 2500);\n${quickProject("bad")["graph.js"]}`,
      }),
      "Dies soon",
    );
    const { body } = await patch({ source_revision_config: { repo_ref: "main" } });
    const id = body.latest_revision_id!;
    const failed = await waitUntil(
      async () => {
        const { body: now } = await plane.call<RevisionBody>(
          "GET",
          `/v2/deployments/${deployment.id}/revisions/${id}`,
        );
        return now.status === "DEPLOY_FAILED" ? now : undefined;
      },
      { what: "the rollback", timeoutMs: 60_000 },
    );
    expect(failed.status_message).toContain("the battery is empty");
    await waitUntil(async () => (await fetch(`${deployment.url}/version`)).ok, {
      what: "the earlier one",
      timeoutMs: 30_000,
    });
    expect(await version()).toEqual(good);
    const { body: after } = await plane.call<DeploymentBody>("GET", `/v2/deployments/${deployment.id}`);
    expect(after.active_revision_id).not.toBe(id);
  });

  it("is gone at once when deleted, with its server, and its name is free", { timeout: 60_000 }, async () => {
    const environment = (await (await fetch(`${deployment.url}/environment`)).json()) as Record<
      string,
      string
    >;
    const { status } = await plane.call("DELETE", `/v2/deployments/${deployment.id}`);
    expect(status).toBe(204);
    expect((await plane.call("GET", `/v2/deployments/${deployment.id}`)).status).toBe(404);
    expect((await fetch(`${deployment.url}/version`)).status).toBe(404);
    await waitUntil(
      () =>
        fetch(`http://127.0.0.1:${environment.PORT}/ok`).then(
          () => false,
          () => true,
        ),
      { what: "the server to be gone", timeoutMs: 15_000 },
    );
    await repository.commit(quickProject("again"), "Fine again");
    const again = await plane.call<DeploymentBody>(
      "POST",
      "/v2/deployments",
      gitDeployment("quick", repository.url, { source_config: sourceConfig() }),
    );
    expect(again.status).toBe(201);
    expect(again.body.slug).not.toBe(deployment.slug);
  });
});
