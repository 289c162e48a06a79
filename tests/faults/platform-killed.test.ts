import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { compiledAgent } from "../support/compiled-agent.ts";
import { freePort } from "../support/components/free-port.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { isRunning } from "../support/components/process-table.ts";
import type { TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentBody, deploy, gitDeployment } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import { createDataParent, type RunningTreadle, startTreadle } from "../support/treadle.ts";

const apiKey = "a-key-for-the-killed-platform";
let parent: TempFolder;
let git: GitServer;
let port: number;
let treadle: RunningTreadle;
let deployment: DeploymentBody;

const dataDir = () => join(parent.path, "data");

async function start(env: Record<string, string> = {}): Promise<void> {
  treadle = await startTreadle(["--data-dir", dataDir(), "--port", String(port)], {
    env: { TREADLE_API_KEY: apiKey, TREADLE_AGENT_COMPILE_CACHE: await compiledAgent(), ...env },
  });
}

async function call<Body>(method: string, path: string, body?: unknown) {
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await fetch(`${treadle.ready.url}${path}`, init);
  return { status: response.status, body: (await response.json()) as Body };
}

async function servers(): Promise<number[]> {
  const { databaseUrl } = JSON.parse(await readFile(join(dataDir(), "runtime.json"), "utf8"));
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ pid: number }>(
      "select (handle->>'pid')::int as pid from deployment_instances where state = 'ready'",
    );
    return rows.map(({ pid }) => pid);
  } finally {
    await client.end();
  }
}

beforeAll(async () => {
  parent = await createDataParent("killed-platform");
  git = await startGitServer();
  port = await freePort();
  await start();
  const repository = await git.createRepository("kept", quickProject("kept"));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  const made = await deploy({ call }, gitDeployment("kept", repository.url, { source_config }));
  expect(made.revision.status).toBe("DEPLOYED");
  deployment = made.deployment;
}, 120_000);

afterAll(async () => {
  await treadle?.stop();
  await git?.stop();
  await parent?.remove();
});

it("a deployed server outlives a killed platform with its embedded database, and answers through the next one at once", {
  timeout: 90_000,
}, async () => {
  const [before] = await servers();
  treadle.signal("SIGKILL");
  await treadle.exited;
  await start();
  const run = await call("POST", `/d/${deployment.slug}/runs/wait`, { assistant_id: "echo", input: {} });
  expect(run.status).toBe(200);
  expect(await servers()).toEqual([before]);
});

it("a server outlives a platform that is stopped, where that is wanted, and not where it is not", {
  timeout: 120_000,
}, async () => {
  const [first] = await servers();
  treadle.signal("SIGTERM");
  await treadle.exited;
  expect(isRunning(first!)).toBe(false);
  await start({ TREADLE_KEEP_SERVERS: "true" });
  const kept = await waitUntil(async () => (await servers())[0], {
    what: "a server",
    timeoutMs: 60_000,
  });
  treadle.signal("SIGTERM");
  await treadle.exited;
  expect(isRunning(kept)).toBe(true);
  await start();
  const run = await call("POST", `/d/${deployment.slug}/runs/wait`, { assistant_id: "echo", input: {} });
  expect(run.status).toBe(200);
  expect(await servers()).toEqual([kept]);
});

it("a server that was told another address of the platform is replaced", { timeout: 90_000 }, async () => {
  const [before] = await servers();
  treadle.signal("SIGKILL");
  await treadle.exited;
  port = await freePort();
  await start();
  await waitUntil(
    async () => {
      const now = await servers();
      return now.length === 1 && now[0] !== before;
    },
    { what: "another server", timeoutMs: 60_000 },
  );
  expect(isRunning(before!)).toBe(false);
  const answer = await call<{ answer: string }>("GET", `/d/${deployment.slug}/version`);
  expect(answer.body.answer).toBe("kept");
});
