import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compiledAgent } from "../support/compiled-agent.ts";
import { freePort } from "../support/components/free-port.ts";
import { type GateServer, startGateServer } from "../support/components/gate-server.ts";
import type { GitRepository } from "../support/components/git-repository.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { type ChildProcess, spawnProcess } from "../support/components/process.ts";
import { processesNaming } from "../support/components/process-table.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import type { DeploymentBody, RevisionBody } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

const child = fileURLToPath(new URL("../support/control-plane-child.ts", import.meta.url));
const apiKey = "a-key-for-the-killed-control-plane";
const workspaceId = "5e1f0000-0000-4000-8000-000000000001";

let git: GitServer;
let folder: TempFolder;
let gates: GateServer;
let database: TestDatabase;
let platform: ChildProcess;
let url: string;
let port: number;

async function start(): Promise<void> {
  const options = {
    ...{ databaseUrl: database.url, folder: folder.path, port, apiKey, workspaceId },
    settings: { bakeMs: 2_000, healthMs: 60_000, compileCache: await compiledAgent() },
    logLevel: process.env.TEST_LOG ?? "silent",
  };
  platform = spawnProcess(process.execPath, [child, JSON.stringify(options)], { name: "control plane" });
  url = (await platform.waitForLine(/^ready /)).slice("ready ".length);
}

/** SIGKILL for the platform alone: what it started must be dealt with by the next one. */
async function crash(): Promise<void> {
  platform.signal("SIGKILL");
  await platform.waitExit();
}

async function call<Body>(method: string, path: string, body?: unknown): Promise<Body> {
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const response = await fetch(`${url}${path}`, {
    method,
    headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return (await response.json()) as Body;
}

async function createDeployment(name: string, repository: GitRepository): Promise<DeploymentBody> {
  return call("POST", "/v2/deployments", {
    ...{ name, source: "github", secrets: [] },
    source_config: { repo_url: repository.url, install_command: quickInstall },
    source_revision_config: { repo_ref: "main", graph_config_path: "langgraph.json" },
  });
}

const revisionOf = (deployment: DeploymentBody) =>
  call<RevisionBody>("GET", `/v2/deployments/${deployment.id}/revisions/${deployment.latest_revision_id}`);

async function waitFor(
  deployment: DeploymentBody,
  what: string,
  matches: (revision: RevisionBody) => boolean,
) {
  let last: RevisionBody | undefined;
  return waitUntil(
    async () => {
      last = await revisionOf(deployment);
      return matches(last) ? last : undefined;
    },
    { what, timeoutMs: 60_000, intervalMs: 20, evidence: () => JSON.stringify(last, null, 1) },
  );
}

async function servers(deploymentId: string): Promise<{ pid: number; revision_id: string }[]> {
  const rows = await database.database.query<{ pid: number; revision_id: string }>(
    {
      name: "test_7",
      text: "select (handle->>'pid')::int as pid, revision_id from deployment_instances where deployment_id = $1 and state <> 'exited'",
    },
    [deploymentId],
  );
  return rows;
}

const version = async (deployment: DeploymentBody) =>
  (await (await fetch(`${url}/d/${deployment.slug}/version`)).json()) as { answer: string };

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await createTempFolder("killed");
  gates = await startGateServer();
  git = await startGitServer();
  port = await freePort();
  await start();
});

afterAll(async () => {
  await platform?.stop("SIGTERM", 30_000);
  await git?.stop();
  if (database) await dropDeploymentDatabases(database.database);
  await database?.drop();
  await folder?.remove();
  await gates?.stop();
});

describe("the platform is killed", () => {
  it("while it reads the source: the build goes on", { timeout: 90_000 }, async () => {
    const deployment = await createDeployment(
      "killed-clone",
      await git.createRepository("killed-clone", quickProject("a")),
    );
    await waitFor(deployment, "the build to begin", ({ status }) => status === "BUILDING");
    await crash();
    await start();
    const done = await waitFor(deployment, "the end", ({ status }) => status === "DEPLOYED");
    expect(done.status).toBe("DEPLOYED");
    expect(await version(deployment)).toMatchObject({ answer: "a" });
  });

  it("while it installs: what was running is ended and the build begins again", {
    timeout: 90_000,
  }, async () => {
    const install = `import { symlinkSync } from "node:fs";
${gates.wait("install")}
symlinkSync(${JSON.stringify(fileURLToPath(new URL("../../node_modules", import.meta.url)))}, "node_modules");`;
    const repository = await git.createRepository(
      "killed-install",
      quickProject("b", { "install.js": install }),
    );
    const deployment = await createDeployment("killed-install", repository);
    await waitUntil(() => gates.waiting("install") === 1, { what: "the install", timeoutMs: 20_000 });
    gates.openForLater("install");
    await crash();
    expect(gates.waiting("install")).toBe(1);
    await start();
    const done = await waitFor(deployment, "the end", ({ status }) => status === "DEPLOYED");
    expect(done.events.map(({ kind }) => kind)).toContain("resumed");
    expect(gates.waiting("install")).toBe(0);
  });

  it("while a server starts: that very server is kept and takes over", { timeout: 90_000 }, async () => {
    const files = quickProject("c");
    files["graph.js"] = `${gates.wait("start")}\n${files["graph.js"]}`;
    const deployment = await createDeployment(
      "killed-start",
      await git.createRepository("killed-start", files),
    );
    await waitFor(deployment, "the start", ({ status }) => status === "DEPLOYING");
    const [before] = await waitUntil(
      async () => {
        const found = await servers(deployment.id);
        return found[0]?.pid ? found : undefined;
      },
      { what: "its server", timeoutMs: 10_000 },
    );
    await crash();
    await start();
    gates.open("start");
    await waitFor(deployment, "the end", ({ status }) => status === "DEPLOYED");
    expect(await servers(deployment.id)).toEqual([before]);
    expect(await version(deployment)).toMatchObject({ answer: "c" });
  });

  it("right after a switch: the new one serves and the old one is cleared away", {
    timeout: 90_000,
  }, async () => {
    const repository = await git.createRepository("killed-switch", quickProject("old"));
    const deployment = await createDeployment("killed-switch", repository);
    await waitFor(deployment, "the first", ({ status }) => status === "DEPLOYED");
    await repository.commit(quickProject("new"), "New");
    const patched = await call<DeploymentBody>("PATCH", `/v2/deployments/${deployment.id}`, {
      source_revision_config: { repo_ref: "main" },
    });
    await waitFor(patched, "the second", ({ status }) => status === "DEPLOYED");
    await crash();
    await start();
    expect(await version(deployment)).toMatchObject({ answer: "new" });
    await waitUntil(async () => (await servers(deployment.id)).length === 1, {
      what: "one server",
      timeoutMs: 20_000,
    });
    expect((await servers(deployment.id))[0]!.revision_id).toBe(patched.latest_revision_id);
  });

  it("leaves no process behind when the next one stops in order", { timeout: 60_000 }, async () => {
    expect(processesNaming(folder.path).length).toBeGreaterThan(0);
    const exit = await platform.stop("SIGTERM", 30_000);
    expect(exit.code).toBe(0);
    await waitUntil(() => processesNaming(folder.path).length === 0, {
      what: "all servers to be gone",
      timeoutMs: 10_000,
    });
  });
});
