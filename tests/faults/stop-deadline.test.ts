import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { compiledAgent } from "../support/compiled-agent.ts";
import { type GateServer, startGateServer } from "../support/components/gate-server.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { processesNaming } from "../support/components/process-table.ts";
import type { TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentBody, deploy, gitDeployment } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import { createDataParent, type RunningTreadle, startTreadle } from "../support/treadle.ts";

const apiKey = "a-key-for-a-busy-platform";
const leaveSeconds = 2;
const graceSeconds = 5;
/** For what comes after the grace: leases are handed back, agents are ended, the embedded PostgreSQL closes. */
const spareSeconds = 8;
let parent: TempFolder;
let git: GitServer;
let gates: GateServer;
let treadle: RunningTreadle;

const dataDir = () => join(parent.path, "data");
const headers = { "x-api-key": apiKey, "content-type": "application/json" };

async function call<Body>(method: string, path: string, body?: unknown) {
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await fetch(`${treadle.ready.url}${path}`, init);
  return { status: response.status, body: (await response.json()) as Body };
}

async function createProject(name: string, files: Record<string, string>) {
  const repository = await git.createRepository(name, quickProject(name, files));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  return gitDeployment(name, repository.url, { source_config });
}

beforeAll(async () => {
  parent = await createDataParent("stop-deadline");
  git = await startGitServer();
  gates = await startGateServer();
  treadle = await startTreadle(["--data-dir", dataDir()], {
    env: {
      TREADLE_API_KEY: apiKey,
      TREADLE_AGENT_COMPILE_CACHE: await compiledAgent(),
      TREADLE_SHUTDOWN_LEAVE_SECONDS: String(leaveSeconds),
      TREADLE_SHUTDOWN_GRACE_SECONDS: String(graceSeconds),
    },
  });
}, 120_000);
afterAll(async () => {
  await treadle?.stop();
  await git?.stop();
  await gates?.stop();
  await parent?.remove();
});

/** A request whose answer never ends; how it is cut off is of no interest here. */
function open(path: string, init: RequestInit = {}): void {
  fetch(`${treadle.ready.url}${path}`, { ...init, headers })
    .then((response) => response.text())
    .catch(() => undefined);
}

it("a stop with everything busy ends within its one deadline, and leaves no process behind", {
  timeout: 180_000,
}, async () => {
  const graph = quickProject("busy")["graph.js"]!;
  const files = {
    "graph.js": `process.on("SIGTERM", () => {});
const atTheGate = async () => { ${gates.wait("run")} };
${graph.replace("async () => (", "async () => (await atTheGate(), ")}`,
  };
  const { deployment, revision } = await deploy({ call }, await createProject("busy", files));
  expect(revision.status).toBe("DEPLOYED");
  // A run that never ends, on an agent that does not stop either, with a client that listens.
  const input = JSON.stringify({ assistant_id: "echo", input: { messages: [] } });
  open(`/d/${deployment.slug}/runs/stream`, { method: "POST", body: input });
  await waitUntil(() => gates.waiting("run") === 1, { what: "the run", timeoutMs: 30_000 });
  // A build that never ends.
  const install = { "install.js": gates.wait("build") };
  const built = await call<DeploymentBody>(
    "POST",
    "/v2/deployments",
    await createProject("building", install),
  );
  await waitUntil(() => gates.waiting("build") === 1, { what: "the build", timeoutMs: 30_000 });
  // Streams of the platform's own.
  const { latest_revision_id: id } = built.body;
  open(`/v2/deployments/${built.body.id}/revisions/${id}/events`);

  const begun = performance.now();
  treadle.signal("SIGTERM");
  const exit = await treadle.exited;
  const seconds = (performance.now() - begun) / 1000;
  expect(exit.code, exit.stderr).toBe(0);
  if (process.env.TEST_LOG) console.log(`stopped after ${seconds.toFixed(1)} s`);
  expect(seconds).toBeGreaterThanOrEqual(leaveSeconds);
  expect(seconds).toBeLessThan(leaveSeconds + graceSeconds + spareSeconds);
  await waitUntil(() => processesNaming(dataDir()).length === 0, {
    what: "every process to be gone",
    timeoutMs: 5_000,
  });
});
