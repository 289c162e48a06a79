import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { compiledAgent } from "../support/compiled-agent.ts";
import { type GateServer, startGateServer } from "../support/components/gate-server.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { type ChildProcess, spawnProcess } from "../support/components/process.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import type { DeploymentBody, RevisionBody } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

const child = fileURLToPath(new URL("../support/control-plane-child.ts", import.meta.url));
const nodeModules = fileURLToPath(new URL("../../node_modules", import.meta.url));
const apiKey = "a-key-for-two-builders";
const workspaceId = "5e1f0000-0000-4000-8000-000000000002";

type Server = { platform: ChildProcess; url: string; folder: TempFolder; placeId: string };

let git: GitServer;
let gates: GateServer;
let database: TestDatabase;
let servers: Server[];

/** Two servers with folders of their own on one database, on one machine: each finds what the other has built. */
async function startServer(name: string): Promise<Server> {
  const folder = await createTempFolder(name);
  const options = {
    ...{ databaseUrl: database.url, folder: folder.path, apiKey, workspaceId, sharesBuilds: true },
    settings: { healthMs: 60_000, compileCache: await compiledAgent() },
    logLevel: process.env.TEST_LOG ?? "silent",
  };
  const platform = spawnProcess(process.execPath, [child, JSON.stringify(options)], { name });
  const url = (await platform.waitForLine(/^ready /)).slice("ready ".length);
  const placeId = await readFile(join(folder.path, "place-id"), "utf8");
  return { platform, url, folder, placeId };
}

beforeAll(async () => {
  gates = await startGateServer();
  git = await startGitServer();
});
beforeEach(async () => {
  database = await createTestDatabase();
  servers = [await startServer("first"), await startServer("second")];
});
afterEach(async () => {
  for (const { platform, folder } of servers) {
    await platform.stop("SIGTERM", 30_000);
    await folder.remove();
  }
  await dropDeploymentDatabases(database.database);
  await database.drop();
});
afterAll(async () => {
  await git?.stop();
  await gates?.stop();
});

async function call<Body>(server: Server, method: string, path: string, body?: unknown): Promise<Body> {
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
  const text = await (await fetch(`${server.url}${path}`, init)).text();
  return JSON.parse(text || "null") as Body;
}

/** Its build waits at the gate of its name. */
async function createDeployment(name: string): Promise<DeploymentBody> {
  const install = `import { symlinkSync } from "node:fs";
${gates.wait(name)}
symlinkSync(${JSON.stringify(nodeModules)}, "node_modules");`;
  const repository = await git.createRepository(name, quickProject(name, { "install.js": install }));
  const deployment = await call<DeploymentBody>(servers[0]!, "POST", "/v2/deployments", {
    ...{ name, source: "github", secrets: [] },
    source_config: { repo_url: repository.url, install_command: quickInstall },
    source_revision_config: { repo_ref: "main", graph_config_path: "langgraph.json" },
  });
  await waitUntil(() => gates.waiting(name) === 1, { what: "the install", timeoutMs: 30_000 });
  return deployment;
}

const pathOf = ({ id, latest_revision_id }: DeploymentBody) =>
  `/v2/deployments/${id}/revisions/${latest_revision_id}`;

async function waitFor(server: Server, deployment: DeploymentBody, status: string): Promise<RevisionBody> {
  let last: RevisionBody | undefined;
  return waitUntil(
    async () => {
      last = await call<RevisionBody>(server, "GET", pathOf(deployment));
      return last.status === status ? last : undefined;
    },
    { what: status, timeoutMs: 90_000, evidence: () => JSON.stringify(last, null, 1) },
  );
}

async function holderOf({ latest_revision_id: id }: DeploymentBody): Promise<Server | undefined> {
  const { rows } = await raw<{ lease_owner: string }>`select lease_owner from jobs
    where kind = 'control_plane.build' and status = 'running' and idempotency_key = ${id}`.execute(
    database.database.sql,
  );
  return servers.find(({ placeId }) => rows[0]?.lease_owner.includes(placeId));
}

/** The server that builds it, and the other one. */
async function builderOf(deployment: DeploymentBody): Promise<[Server, Server]> {
  const builder = await holderOf(deployment);
  expect(builder).toBeDefined();
  return [builder!, servers.find((server) => server !== builder)!];
}

const kindsOf = ({ events }: RevisionBody) => events.map(({ kind }) => kind);
const timesBuilt = ({ events }: RevisionBody) =>
  events.filter(({ status }) => status === "AWAITING_DEPLOY").length;

describe("two servers that build", () => {
  it("one is killed while it builds: the other builds it again and serves it", {
    timeout: 120_000,
  }, async () => {
    const deployment = await createDeployment("killed-builder");
    const [builder, other] = await builderOf(deployment);
    gates.openForLater("killed-builder");
    builder.platform.signal("SIGKILL");
    await builder.platform.waitExit();
    const done = await waitFor(other, deployment, "DEPLOYED");
    expect(kindsOf(done)).toContain("resumed");
    expect(timesBuilt(done)).toBe(1);
    const answer = await fetch(`${other.url}/d/${deployment.slug}/version`);
    expect(await answer.json()).toMatchObject({ answer: "killed-builder" });
  });

  it("one is stopped in order while it builds: the other begins at once", { timeout: 120_000 }, async () => {
    const deployment = await createDeployment("stopped-builder");
    const [builder, other] = await builderOf(deployment);
    await builder.platform.stop("SIGTERM", 30_000);
    await waitUntil(async () => (await holderOf(deployment)) === other, {
      what: "the other one to build it",
      timeoutMs: 10_000,
    });
    gates.open("stopped-builder");
    expect(timesBuilt(await waitFor(other, deployment, "DEPLOYED"))).toBe(1);
  });

  it("one stands still beyond its lease: it ends its build, and its result is not taken", {
    timeout: 150_000,
  }, async () => {
    const deployment = await createDeployment("paused-builder");
    const [builder, other] = await builderOf(deployment);
    builder.platform.signal("SIGSTOP");
    await waitUntil(() => gates.waiting("paused-builder") === 2, {
      what: "the other one to build it as well",
      timeoutMs: 60_000,
    });
    expect(await holderOf(deployment)).toBe(other);
    builder.platform.signal("SIGCONT");
    await waitUntil(() => gates.waiting("paused-builder") === 1, {
      what: "the first one to end its build",
      timeoutMs: 20_000,
    });
    gates.open("paused-builder");
    const done = await waitFor(other, deployment, "DEPLOYED");
    expect(timesBuilt(done)).toBe(1);
    expect(kindsOf(done).filter((kind) => kind === "resumed")).toHaveLength(1);
  });

  it("an interruption that is asked of one reaches the other, which builds", {
    timeout: 90_000,
  }, async () => {
    const deployment = await createDeployment("interrupted");
    const [, other] = await builderOf(deployment);
    await call(other, "POST", `${pathOf(deployment)}/interrupt`);
    await waitUntil(() => gates.waiting("interrupted") === 0, {
      what: "the build to end",
      timeoutMs: 5_000,
    });
    expect(await waitFor(other, deployment, "INTERRUPTED")).toMatchObject({ status: "INTERRUPTED" });

    const next = await createDeployment("deleted");
    await call(other, "DELETE", `/v2/deployments/${next.id}`);
    await waitUntil(() => gates.waiting("deleted") === 0, { what: "its build to end", timeoutMs: 5_000 });
  });
});
