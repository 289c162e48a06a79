import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { isRunning } from "../support/components/process-table.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { type DeploymentBody, deploy, gitDeployment, revisionDone } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";
import { type RoleProcess, RoleProcesses } from "../support/role-processes.ts";
import { useCephRgw } from "../support/shared-ceph.ts";

// Six servers on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

let platform: RoleProcesses;
let git: GitServer;
let api: RoleProcess;
let gateway: RoleProcess;
let controller: RoleProcess;
let deployment: DeploymentBody;

const controllerFolder = "controller";

beforeAll(async () => {
  const rgw = await useCephRgw();
  [platform, git] = await Promise.all([RoleProcesses.prepare(rgw), startGitServer()]);
  api = await platform.start("api");
  [controller, gateway] = await Promise.all([
    platform.start("controller,builder", controllerFolder),
    platform.start("gateway"),
  ]);
  const repository = await git.createRepository("kept", quickProject("kept"));
  const source_config = { repo_url: repository.url, install_command: quickInstall };
  const made = await deploy(api, gitDeployment("kept", repository.url, { source_config }));
  expect(made.revision).toMatchObject({ status: "DEPLOYED" });
  deployment = made.deployment;
});
afterAll(async () => {
  await platform?.stop();
  await git?.stop();
});

async function kill(process: RoleProcess): Promise<void> {
  process.signal("SIGKILL");
  await process.exited;
}

const ask = (through: RoleProcess) =>
  through.call("POST", `/d/${deployment.slug}/runs/wait`, { assistant_id: "echo", input: {} });

async function servers(): Promise<number[]> {
  const rows = await platform.query<{ pid: number }>(
    "select (handle->>'pid')::int as pid from deployment_instances where state = 'ready'",
  );
  return rows.map(({ pid }) => pid);
}

test("a worker is killed: another goes on with its run, and the stream at the api goes on with it", async () => {
  const worker = await platform.start("worker");
  const { thread_id } = await api.client.threads.create();
  const input = { messages: [{ role: "user", content: "Tell me about weaving." }] };
  const { run_id } = await api.client.runs.create(thread_id, "agent", {
    ...{ input, streamMode: ["messages-tuple"] },
    config: { configurable: { token_delay_ms: 100 } },
  });
  let taken: Promise<RoleProcess> | undefined;
  for await (const { event } of api.client.runs.joinStream(thread_id, run_id)) {
    if (taken !== undefined || !event.startsWith("messages")) continue;
    await kill(worker);
    taken = platform.start("worker");
  }
  expect(taken).toBeDefined();
  expect(await api.client.runs.get(thread_id, run_id)).toMatchObject({ status: "success" });
  const [row] = await platform.query<{ attempt: number }>("select attempt from runs where run_id = $1", [
    run_id,
  ]);
  expect(row).toMatchObject({ attempt: 2 });
  await (await taken)!.stop();
});

test("the only worker is killed: the api takes runs, which begin when there is one again", async () => {
  const { thread_id } = await api.client.threads.create();
  const { run_id } = await api.client.runs.create(thread_id, "echo", { input: { messages: [] } });
  expect(await api.client.runs.get(thread_id, run_id)).toMatchObject({ status: "pending" });
  const worker = await platform.start("worker");
  await api.client.runs.join(thread_id, run_id);
  expect(await api.client.runs.get(thread_id, run_id)).toMatchObject({ status: "success" });
  await worker.stop();
});

test("an api is killed: another serves the same, and what was made on the one is there", async () => {
  const other = await platform.start("api");
  const { thread_id } = await other.client.threads.create();
  await kill(other);
  expect(await api.client.threads.get(thread_id)).toMatchObject({ thread_id });
});

test("a gateway is killed: another one serves, and neither agents nor the controller notice", async () => {
  const [pid] = await servers();
  const other = await platform.start("gateway");
  expect((await ask(other)).status).toBe(200);
  await kill(other);
  expect((await ask(gateway)).status).toBe(200);
  expect(await servers()).toEqual([pid]);
});

test("the controller is killed: agents go on and are served; the next one finds them and deploys what came meanwhile", async () => {
  const [pid] = await servers();
  await kill(controller);
  expect((await ask(gateway)).status).toBe(200);
  const patched = await api.call<DeploymentBody>("PATCH", `/v2/deployments/${deployment.id}`, {
    secrets: [{ name: "SUFFIX", value: " once more" }],
  });
  expect(patched.status).toBe(200);
  expect(isRunning(pid!)).toBe(true);
  controller = await platform.start("controller,builder", controllerFolder);
  const done = await revisionDone(api, deployment.id, patched.body.latest_revision_id!);
  expect(done).toMatchObject({ status: "DEPLOYED" });
  const answer = await waitUntil(
    async () => {
      const { status, body } = await ask(gateway);
      const text = JSON.stringify(body);
      return status === 200 && text.includes("kept once more") ? text : undefined;
    },
    { what: "the new revision at the gateway", timeoutMs: 30_000, intervalMs: 100 },
  );
  expect(answer).toContain("kept once more");
});

test("the database is away: a gateway stays ready for the servers it knows, an api does not until it is back", async () => {
  await platform.database.kill();
  await waitUntil(async () => (await api.call("GET", "/ready")).status === 503, {
    what: "the api to see it",
    timeoutMs: 30_000,
    intervalMs: 100,
  });
  expect((await gateway.call("GET", "/ready")).status).toBe(200);
  expect((await api.call("GET", "/health")).status).toBe(200);
  await platform.database.restart();
  await waitUntil(async () => (await api.call("GET", "/ready")).status === 200, {
    what: "the api to go on",
    timeoutMs: 30_000,
    intervalMs: 100,
  });
});
