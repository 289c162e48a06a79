import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { freePort } from "../support/components/free-port.ts";
import type { GitRepository } from "../support/components/git-repository.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase } from "../support/database.ts";
import { type DeploymentBody, gitDeployment, revisionDone } from "../support/deployments.ts";
import { ListenerSite } from "../support/listener-site.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import type { RunningTreadle } from "../support/treadle.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 240_000 });

type Deployment = DeploymentBody & {
  health: { state: string; message: string | null; since: string | null; restarts: number };
};

/** An install that does not end by itself. */
const waiting = `console.log("it waits"); setInterval(() => {}, 1_000);`;

let site: ListenerSite;
let listener: { id: string };
let key: string;
let port: number;
let process: RunningTreadle;
let repository: GitRepository;
let id: string;
let url: string;

beforeAll(async () => {
  site = await ListenerSite.prepare();
  listener = (
    await site.call<{ id: string }>("POST", "/v2/listeners", {
      ...{ compute_type: "process", compute_id: "the other network", compute_config: {} },
    })
  ).body;
  const made = await site.call<{ key: string }>("POST", "/v2/api-keys", {
    ...{ name: "listener", service: true, scopes: ["listener"] },
  });
  expect(made.status).toBe(201);
  key = made.body.key;
  port = await freePort();
  repository = await site.git.createRepository("remote", quickProject("one", { "wait.js": waiting }));
});
afterAll(() => site?.stop());

const start = () => site.startListener({ id: listener.id, key, port });
const deploymentOf = async () => (await site.call<Deployment>("GET", `/v2/deployments/${id}`)).body;
const wait = <T>(what: string, check: () => Promise<T>) =>
  waitUntil(check, { what, timeoutMs: 60_000, intervalMs: 100 });

/** Of the server that answers at the listener's side, with a key of the platform. */
async function ask(path: string, init: RequestInit = {}) {
  return fetch(`${url}${path}`, { ...init, headers: { ...site.headers, ...init.headers } });
}
const version = async () => ((await (await ask("/version")).json()) as { answer: string }).answer;

async function linesOf(revisionId: string, type: "build" | "deploy"): Promise<string[]> {
  const path = `/v2/deployments/${id}/revisions/${revisionId}/logs?type=${type}&limit=1000`;
  const { body } = await site.call<{ logs: { message: string }[] }>("GET", path);
  return body.logs.map(({ message }) => message);
}

/** A change that makes a revision, and what became of it. */
async function change(body: object) {
  const patched = await site.call<Deployment>("PATCH", `/v2/deployments/${id}`, body);
  expect(patched.status).toBe(200);
  return revisionDone(site.calls, id, patched.body.latest_revision_id!);
}

test("a deployment waits for its listener, and says so", async () => {
  const made = await site.call<Deployment>(
    "POST",
    "/v2/deployments",
    gitDeployment("remote", repository.url, {
      source_config: { repo_url: repository.url, install_command: quickInstall, listener_id: listener.id },
      secrets: [{ name: "SUFFIX", value: "-secret-of-the-revision" }],
    }),
  );
  expect(made.status).toBe(201);
  id = made.body.id;
  expect(made.body.health).toMatchObject({
    state: "away",
    message: expect.stringContaining("has never connected"),
  });
});

test("a listener takes it, builds it, serves it and reports", async () => {
  process = await start();
  const { latest_revision_id: revisionId } = await deploymentOf();
  const revision = await revisionDone(site.calls, id, revisionId!);
  expect([revision.status, revision.status_message]).toEqual(["DEPLOYED", expect.any(String)]);
  expect(revision.source_revision_config.repo_commit_sha).toMatch(/^[0-9a-f]{40}$/);
  const statuses = revision.events.map(({ status }) => status).filter((status) => status !== null);
  expect(statuses).toEqual([
    "CREATING",
    "AWAITING_BUILD",
    "BUILDING",
    "AWAITING_DEPLOY",
    "DEPLOYING",
    "DEPLOYED",
  ]);
  const deployment = await wait("the report that it serves", async () => {
    const found = await deploymentOf();
    return found.health.state === "serving" && found.active_revision_id === revisionId ? found : undefined;
  });
  url = deployment.url;
  expect(url).toBe(`http://127.0.0.1:${port}/d/${deployment.slug}`);
  const client = new Client({ apiUrl: url, apiKey: site.apiKey, callerOptions: { maxRetries: 0 } });
  const values = await client.runs.wait(null, "echo", { input: { messages: [] } });
  expect(JSON.stringify(values)).toContain("one-secret-of-the-revision");
  expect(await linesOf(revisionId!, "build")).toContain("linked the packages");
  const { body: seen } = await site.call<{ presence: string; deployments: number; process: object }>(
    "GET",
    `/v2/listeners/${listener.id}`,
  );
  expect(seen).toMatchObject({ presence: "alive", deployments: 1, process: { runtime: "process" } });
  await wait("the log lines of the server", async () => (await linesOf(revisionId!, "deploy")).length > 0);
});

test("the platform's own gateway says where it is, and the secrets that were given are in the audit log", async () => {
  const { slug } = await deploymentOf();
  const { status, code, body } = await site.call<{ detail: string }>("GET", `/d/${slug}/version`);
  expect([status, code]).toEqual([421, "gateway.elsewhere"]);
  expect(body.detail).toContain(url);
  const { body: events } = await site.call<{ items: object[] }>(
    "GET",
    "/v2/audit-events?action=listener.secrets_given",
  );
  expect(JSON.stringify(events)).toContain(listener.id);
  expect(JSON.stringify(events)).not.toContain("secret-of-the-revision");
});

test("its key opens nothing else, and a key of another workspace not the listener", async () => {
  const refused = await site.call("GET", `/v2/deployments/${id}`, undefined, key);
  expect([refused.status, refused.code]).toEqual([403, "request.scope_missing"]);
  expect((await site.call("GET", "/v2/listeners", undefined, key)).status).toBe(403);
  const other = await site.call<{ id: string }>("POST", "/v2/workspaces", { name: "Another" });
  const foreign = await fetch(`${site.url}/v2/api-keys`, {
    method: "POST",
    headers: { "x-api-key": site.apiKey, "x-tenant-id": other.body.id, "content-type": "application/json" },
    body: JSON.stringify({ name: "foreign", service: true, scopes: ["listener"] }),
  });
  const { key: foreignKey } = (await foreign.json()) as { key: string };
  const lease = { place: listener.id, holder: listener.id, version: "1", runtime: "x", url: "http://x" };
  const path = `/v2/listeners/${listener.id}`;
  expect((await site.call("POST", `${path}/lease`, lease, foreignKey)).status).toBe(404);
  expect((await site.call("POST", `${path}/poll`, { epoch: 1 }, foreignKey)).status).toBe(404);
  // Of its own workspace, and may do everything else: it is given no secrets.
  for (const asked of ["lease", "poll"]) {
    const admin = await site.call<{ detail: string }>("POST", `${path}/${asked}`, { ...lease, epoch: 1 });
    expect([admin.status, admin.code]).toEqual([403, "request.scope_missing"]);
    expect(admin.body.detail).toContain("--scope listener");
  }
  // Of its own workspace, but without the lease.
  const held = await site.call("POST", `${path}/lease`, lease, key);
  expect([held.status, held.code]).toEqual([409, "listener.held"]);
  const fenced = await site.call("POST", `${path}/poll`, { epoch: 0 }, key);
  expect([fenced.status, fenced.code]).toEqual([409, "listener.lease_lost"]);
  expect((await ask("/version", { headers: { "x-api-key": "a-key-nobody-has" } })).status).toBe(401);
});

test("a listener's report about deployments of another one changes nothing", async () => {
  const other = await site.call<{ id: string }>("POST", "/v2/listeners", {
    ...{ compute_type: "k8s", compute_id: "a liar", compute_config: {} },
  });
  const path = `/v2/listeners/${other.body.id}`;
  const foreign = await site.call<{ detail: string }>("GET", path, undefined, key);
  expect([foreign.status, foreign.code]).toEqual([403, "listener.key_of_another"]);
  const made = await site.call<{ key: string }>("POST", "/v2/api-keys", {
    ...{ name: "a liar", service: true, scopes: ["listener"] },
  });
  const liar = made.body.key;
  const introduced = {
    place: other.body.id,
    holder: other.body.id,
    version: "1",
    runtime: "x",
    url: "http://x",
  };
  const lease = await site.call<{ epoch: number }>("POST", `${path}/lease`, introduced, liar);
  expect(lease.status).toBe(200);
  const { epoch } = lease.body;
  const before = await deploymentOf();
  const revision_id = before.active_revision_id!;
  const revision = () => site.call("GET", `/v2/deployments/${id}/revisions/${revision_id}`);
  const was = (await revision()).body;
  const now = new Date().toISOString();
  const lie = await site.call(
    "POST",
    `${path}/reports`,
    {
      ...{ epoch, number: 1, held: [], metrics: { until: null, items: [] } },
      deployments: [
        {
          ...{ id, url: "http://evil.example.com", database_ready: false, switched_at: null },
          ...{ active_revision_id: null, previous_revision_id: null },
        },
      ],
      revisions: [
        {
          ...{
            id: revision_id,
            status: "DEPLOY_FAILED",
            status_message: "a lie",
            condition: null,
            failure: null,
          },
          ...{
            progress: 1,
            repo_commit_sha: null,
            uses_own_auth: true,
            image_reference: null,
            image_digest: null,
          },
        },
      ],
      instances: [],
      events: {
        ...{ after: 0, upto: 1 },
        items: [{ revision_id, kind: "lie", status: null, message: "a lie", created_at: now }],
      },
      logs: {
        ...{ after: 0, upto: 1 },
        items: [
          {
            ...{ deployment_id: id, revision_id, kind: "deploy", at: now, level: "INFO", message: "a lie" },
            ...{ run_id: null, origin: null },
          },
        ],
      },
    },
    liar,
  );
  expect(lie.status).toBe(200);
  expect((await deploymentOf()).url).toBe(before.url);
  expect((await deploymentOf()).active_revision_id).toBe(revision_id);
  expect((await revision()).body).toEqual(was);
  expect(await linesOf(revision_id, "deploy")).not.toContain("a lie");
  const secrets = await site.call("POST", `${path}/revisions/${revision_id}/secrets`, { epoch }, liar);
  expect([secrets.status, secrets.code]).toEqual([404, "revision.not_found"]);
});

test("a line with an endless run id stops no report", async () => {
  const { active_revision_id: revisionId } = await deploymentOf();
  await raw`insert into deployment_logs (deployment_id, revision_id, kind, at, level, message, run_id)
    values (${id}, ${revisionId}, 'deploy', now(), 'INFO', 'with a long id', ${"r".repeat(300)})`.execute(
    site.databases.place.database.sql,
  );
  await wait("the line", async () => (await linesOf(revisionId!, "deploy")).includes("with a long id"));
});

test("a new revision takes over, and an older one is deployed again", async () => {
  const first = (await deploymentOf()).active_revision_id!;
  await repository.commit(quickProject("two"), "two");
  const second = await change({ source_revision_config: { repo_ref: "main" } });
  expect([second.status, await version()]).toEqual(["DEPLOYED", "two"]);
  const again = await site.call<Deployment>("POST", `/v2/deployments/${id}/revisions/${first}/redeploy`);
  expect(again.status).toBe(200);
  const third = await revisionDone(site.calls, id, again.body.latest_revision_id!);
  expect([third.status, await version()]).toEqual(["DEPLOYED", "one"]);
});

test("a build that fails says why, and one that is interrupted ends", async () => {
  const failed = await change({ source_config: { install_command: "node no-such-file.js" } });
  expect(failed.status).toBe("BUILD_FAILED");
  expect(failed.status_message).toContain("no-such-file.js");
  const patched = await site.call<Deployment>("PATCH", `/v2/deployments/${id}`, {
    source_config: { install_command: "node wait.js" },
  });
  const slow = patched.body.latest_revision_id!;
  await wait("the build to run", async () => (await linesOf(slow, "build")).includes("it waits"));
  const path = `/v2/deployments/${id}/revisions/${slow}/interruption`;
  expect((await site.call("POST", path)).status).toBe(200);
  await wait("the listener to end the build", async () => {
    const { rows } = await raw<{ status: string }>`select status from revisions where id = ${slow}`.execute(
      site.databases.place.database.sql,
    );
    return rows[0]?.status === "INTERRUPTED";
  });
  const interruptions = (await revisionDone(site.calls, id, slow)).events.filter(
    ({ status }) => status === "INTERRUPTED",
  );
  expect([interruptions.length, await version()]).toEqual([1, "one"]);
  await change({ source_config: { install_command: quickInstall } });
});

test("it is stopped, started and restarted from the platform", async () => {
  const power = async (action: string) => {
    expect((await site.call("POST", `/v2/deployments/${id}/${action}`)).status).toBe(200);
  };
  const status = async () => (await ask("/version")).status;
  await power("stop");
  await wait("the server to stop", async () => (await status()) === 503);
  await power("start");
  await wait("the server to start", async () => (await status()) === 200);
  const newest = async () => {
    const path = `/v2/deployments/${id}/metrics`;
    const { body } = await site.call<{ instances: { id: string; state: string }[] }>("GET", path);
    return body.instances.find(({ state }) => state === "ready")?.id;
  };
  const before = await wait("the report of the server", newest);
  await power("restart");
  await wait("another server", async () => {
    const now = await newest();
    return now !== undefined && now !== before;
  });
});

test("a listener that was killed comes back to what it serves; meanwhile the deployment says since when it is away", async () => {
  const { active_revision_id: active } = await deploymentOf();
  process.signal("SIGKILL");
  await process.exited;
  await raw`update listeners set leased_until = now() - interval '1 minute', seen_at = now() - interval '2 minutes'`.execute(
    site.databases.platform.database.sql,
  );
  const { health, active_revision_id: still } = await deploymentOf();
  expect(health.state).toBe("away");
  expect(health.message).toContain(`has not reported since ${health.since}`);
  expect(still).toBe(active);
  process = await start();
  await wait("the listener to be back", async () => (await deploymentOf()).health.state !== "away");
  await wait("the server", async () => (await ask("/version")).status === 200);
  expect(await version()).toBe("one");
  expect((await deploymentOf()).active_revision_id).toBe(active);
});

test("while the platform is away it goes on, and reports later", async () => {
  const restarts = (await deploymentOf()).health.restarts;
  expect(await version()).toBe("one");
  await site.platform!.stop();
  expect(await version()).toBe("one");
  expect((await ask("/die", { method: "POST" })).status).toBe(200);
  await wait("the server to be started again", async () => (await ask("/version")).status === 200);
  await site.startPlatform();
  await wait("the report of the restart", async () => (await deploymentOf()).health.restarts > restarts);
});

test("a second process waits, and one with another database is refused also when the first is gone", async () => {
  const elsewhere = await createTestDatabase();
  const second = await site.startListener({
    ...{ id: listener.id, key, port: await freePort(), folder: "second", databaseUrl: elsewhere.url },
  });
  try {
    await wait("the second to be refused", async () => second.stderr().includes("Another process acts"));
    await process.stop();
    await wait("the other database to be refused", async () =>
      second.stderr().includes("are in another database"),
    );
  } finally {
    await second.stop();
    await elsewhere.drop();
  }
  process = await start();
  await wait("the first to be back", async () => (await ask("/version")).status === 200);
});

test("a deletion leaves nothing at either side", async () => {
  const { slug } = await deploymentOf();
  expect((await site.call("DELETE", `/v2/deployments/${id}`)).status).toBe(204);
  await wait("the server to end", async () => (await ask("/version")).status === 404);
  expect((await site.call("DELETE", `/v2/deployments/${id}?force=true`)).status).toBe(204);
  const rows = async (of: "platform" | "place") =>
    (await raw`select 1 from deployments where slug = ${slug}`.execute(site.databases[of].database.sql)).rows;
  await wait("the listener to forget it", async () => (await rows("place")).length === 0);
  await wait("the platform to forget it", async () => (await rows("platform")).length === 0);
  const { rows: left } = await raw`
    select 1 from pg_database where datname = ${`treadle_d_${id.replaceAll("-", "")}`}`.execute(
    site.databases.place.database.sql,
  );
  expect(left).toEqual([]);
  expect((await site.call("DELETE", `/v2/listeners/${listener.id}`)).status).toBe(204);
});
