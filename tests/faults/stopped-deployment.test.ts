import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compiledAgent } from "../support/compiled-agent.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { isRunning } from "../support/components/process-table.ts";
import type { TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentBody, deploy, gitDeployment } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import { createDataParent, type RunningTreadle, startTreadle } from "../support/treadle.ts";

const apiKey = "a-key-for-the-restarted-platform";
let parent: TempFolder;
let git: GitServer;
let treadle: RunningTreadle;
let deployment: DeploymentBody;

const dataDir = () => join(parent.path, "data");

async function start(env: Record<string, string>): Promise<void> {
  treadle = await startTreadle(["--data-dir", dataDir()], {
    env: { TREADLE_API_KEY: apiKey, TREADLE_AGENT_COMPILE_CACHE: await compiledAgent(), ...env },
  });
}

async function restart(signal: NodeJS.Signals, env: Record<string, string>): Promise<void> {
  treadle.signal(signal);
  await treadle.exited;
  await start(env);
}

async function call<Body>(method: string, path: string, body?: unknown) {
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await fetch(`${treadle.ready.url}${path}`, init);
  return { status: response.status, body: (await response.json()) as Body };
}

const power = (name: "stop" | "start") => call("POST", `/v2/deployments/${deployment.id}/${name}`);
const health = async () =>
  (await call<{ health: { state: string } }>("GET", `/v2/deployments/${deployment.id}`)).body.health.state;
const answer = () => call<{ answer?: string; detail?: string }>("GET", `/d/${deployment.slug}/version`);

/** From the platform's own database, so that what a stopped platform left is seen too. */
async function query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
  const { databaseUrl } = JSON.parse(await readFile(join(dataDir(), "runtime.json"), "utf8"));
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** Every server that was ever started. */
const servers = () =>
  query<{ pid: number; state: string }>(
    "select (handle->>'pid')::int as pid, state from deployment_instances where deployment_id = $1 order by started_at",
    [deployment.id],
  );

/** A database of a deployment that does nothing has nobody in it. */
const connections = async () =>
  (
    await query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where datname = (select database_name from deployments where id = $1)`,
      [deployment.id],
    )
  )[0]!.count;

/** Another deployment is made and serves: by then the reconciler has looked at every one since it started. */
async function platformWorks(name: string): Promise<void> {
  const repository = await git.createRepository(name, quickProject(name));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  const made = await deploy({ call }, gitDeployment(name, repository.url, { source_config }));
  expect(made.revision.status).toBe("DEPLOYED");
}

async function expectStopped(started: number): Promise<void> {
  expect(await health()).toBe("stopped");
  const refused = await answer();
  expect(refused.status).toBe(503);
  expect(refused.body.detail).toContain("stopped");
  const all = await servers();
  expect(all).toHaveLength(started);
  expect(all.filter(({ state, pid }) => state !== "exited" || isRunning(pid))).toEqual([]);
  expect(await connections()).toBe(0);
}

async function serves(): Promise<void> {
  await waitUntil(async () => (await answer()).status === 200, { what: "it to serve", timeoutMs: 60_000 });
  expect((await answer()).body.answer).toBe("kept");
}

const gone = () =>
  waitUntil(async () => (await servers()).every(({ state, pid }) => state === "exited" && !isRunning(pid)), {
    what: "its server to be gone",
    timeoutMs: 60_000,
  });

/** Servers that outlive the platform end with one that does not keep them, once it has found them. */
async function endKeptServers(): Promise<void> {
  await restart("SIGTERM", {});
  await power("stop");
  await gone();
  const all = await query<{ pid: number }>("select (handle->>'pid')::int as pid from deployment_instances");
  await treadle.stop();
  expect(all.filter(({ pid }) => isRunning(pid))).toEqual([]);
}

beforeAll(async () => {
  parent = await createDataParent("stopped-deployment");
  git = await startGitServer();
  await start({});
  const repository = await git.createRepository("kept", quickProject("kept"));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  const made = await deploy({ call }, gitDeployment("kept", repository.url, { source_config }));
  expect(made.revision.status).toBe("DEPLOYED");
  deployment = made.deployment;
}, 120_000);

afterAll(async () => {
  if (deployment) await endKeptServers();
  await treadle?.stop();
  await git?.stop();
  await parent?.remove();
}, 120_000);

describe.each([
  ["servers that end with the platform", {}],
  ["servers that outlive it", { TREADLE_KEEP_SERVERS: "true" }],
])("a stopped deployment, with %s", (_how, env: Record<string, string>) => {
  it("stays stopped across SIGTERM and kill -9, and starts when asked", { timeout: 240_000 }, async () => {
    await restart("SIGTERM", env);
    await serves();
    expect((await power("stop")).status).toBe(200);
    await gone();
    const started = (await servers()).length;
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      await restart(signal, env);
      await platformWorks(`other-${signal}-${Object.keys(env).length}`.toLowerCase());
      await expectStopped(started);
    }
    expect((await power("start")).status).toBe(200);
    await serves();
    expect(await servers()).toHaveLength(started + 1);
  });

  it.each(["SIGTERM", "SIGKILL"] as const)(
    "is stopped by the next platform when a %s came before its server had ended",
    { timeout: 240_000 },
    async (signal) => {
      await serves();
      const [server] = (await servers()).filter(({ state }) => state === "ready");
      // A stream that takes three seconds: a server that gets the signal to stop finishes it first.
      const headers = { "x-api-key": apiKey };
      const stream = await fetch(`${treadle.ready.url}/d/${deployment.slug}/slow`, { headers });
      expect((await power("stop")).status).toBe(200);
      expect(isRunning(server!.pid)).toBe(true);
      await restart(signal, env);
      await stream.text().catch(() => undefined);
      await gone();
      await expectStopped((await servers()).length);
      expect((await power("start")).status).toBe(200);
      await serves();
    },
  );
});
