import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { WebSocket } from "ws";
import { raw } from "../../src/platform/db/raw.ts";
import { compiledAgent } from "../support/compiled-agent.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { type ChildProcess, spawnProcess } from "../support/components/process.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import {
  type DeploymentBody,
  deploy,
  gitDeployment,
  type PlaneCalls,
  revisionDone,
} from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

const script = fileURLToPath(new URL("../support/control-plane-child.ts", import.meta.url));
const apiKey = "a-key-for-those-who-sleep";
const workspaceId = "5e1f0000-0000-4000-8000-000000000023";
const headers = { "x-api-key": apiKey, "x-tenant-id": workspaceId };
const json = { ...headers, "content-type": "application/json" };

type Sleeper = DeploymentBody & {
  health: { state: string; message: string };
  sleep: { state: string; allowed: boolean; wakes_at: string | null };
};

let git: GitServer;
let folder: TempFolder;
let database: TestDatabase;
let platforms: ChildProcess[] = [];
/** The first one looks after deployments; both are gateways. */
let leader: string;
let second: string;
let deployment: DeploymentBody;

async function start(name: string): Promise<string> {
  const settings = { bakeMs: 300, sleepAfterMs: 3_000, compileCache: await compiledAgent() };
  const options = {
    databaseUrl: database.url,
    folder: folder.path,
    apiKey,
    workspaceId,
    settings,
    agentAuthRequired: true,
  };
  const args = [script, JSON.stringify({ ...options, logLevel: process.env.TEST_LOG ?? "silent" })];
  const child = spawnProcess(process.execPath, args, { name });
  platforms.push(child);
  return (await child.waitForLine(/^ready /, 150_000)).slice("ready ".length);
}

const plane: PlaneCalls = {
  async call(method, path, body) {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const signal = AbortSignal.timeout(60_000);
    const answer = await fetch(`${leader}${path}`, { method, headers: json, signal, ...sent });
    return { status: answer.status, body: (await answer.json()) as never };
  },
};

beforeAll(async () => {
  folder = await createTempFolder("sleep");
  database = await createTestDatabase();
  git = await startGitServer();
  leader = await start("leader");
  second = await start("second");
  const { url } = await git.createRepository("sleeper", quickProject("here I am"));
  const source_config = { repo_url: url, install_command: quickInstall, resource_spec: { min_scale: 0 } };
  const made = await deploy(plane, gitDeployment("sleeper", url, { source_config }));
  expect(made.revision).toMatchObject({ status: "DEPLOYED" });
  deployment = made.deployment;
}, 180_000);

afterAll(async () => {
  await Promise.all(platforms.map((platform) => platform.stop("SIGTERM", 30_000)));
  await git?.stop();
  if (database) await dropDeploymentDatabases(database.database);
  await database?.drop();
  await folder?.remove();
});

async function read(): Promise<Sleeper> {
  const { status, body } = await plane.call<Sleeper>("GET", `/v2/deployments/${deployment.id}`);
  if (status !== 200) throw new Error(`the deployment answered ${status}: ${JSON.stringify(body)}`);
  return body;
}
const at = (gateway: string, path: string) => `${gateway}/d/${deployment.slug}${path}`;

type Row = { state: string; started_at: Date };
async function servers(): Promise<Row[]> {
  const { rows } = await raw<Row>`select state, started_at from deployment_instances
    where deployment_id = ${deployment.id} order by started_at`.execute(database.database.sql);
  return rows;
}

/** What there is to see of it in the database, for a test that waits in vain. */
async function rowsNow(): Promise<string> {
  const { sql } = database.database;
  const own = await raw`select sleep_state, sleep_changed_at, sleep_settled, wake_at, now() from deployments
    where id = ${deployment.id}`.execute(sql);
  const lease = await raw`select * from control_plane_lease`.execute(sql);
  const instances =
    await raw`select id, state, exit_kind, exit_detail, handle, started_at, ready_at, exited_at,
    announced is not null as announced from deployment_instances where deployment_id = ${deployment.id}
    order by started_at desc limit 4`.execute(sql);
  return JSON.stringify([own.rows, lease.rows, instances.rows], null, 1);
}

/** Its server may take a minute to start on a busy machine. */
async function until(check: (body: Sleeper) => boolean, what: string, timeoutMs = 150_000): Promise<Sleeper> {
  let evidence = "";
  return waitUntil(
    async () => {
      const body = await read();
      if (check(body)) return body;
      evidence = await rowsNow();
      return undefined;
    },
    { what, timeoutMs, intervalMs: 100, evidence: () => evidence },
  );
}

const isServing = ({ health }: Sleeper) => health.state === "serving";

/** Whoever looks after deployments now. */
async function leaseHolder(): Promise<ChildProcess> {
  const { rows } = await raw<{ pid: number }>`select pid from control_plane_lease`.execute(
    database.database.sql,
  );
  return platforms.find(({ pid }) => pid === rows[0]?.pid)!;
}

/** Nothing runs any more, and what is due next is known. */
async function untilAsleep(timeoutMs = 150_000): Promise<Sleeper> {
  let last: Sleeper | undefined;
  let evidence = "";
  return waitUntil(
    async () => {
      const isSettled = await raw`select 1 from deployments
        where id = ${deployment.id} and sleep_settled`.execute(database.database.sql);
      last = await read();
      const live = (await servers()).filter(({ state }) => state !== "exited");
      if (last.sleep.state === "asleep" && isSettled.rows.length > 0 && live.length === 0) return last;
      evidence = await rowsNow();
      return undefined;
    },
    {
      ...{ what: "the deployment to sleep", timeoutMs, intervalMs: 100 },
      evidence: () => `${JSON.stringify(last, null, 1)}\n${evidence}`,
    },
  );
}

it("sleeps by itself while nobody uses it; monitors neither wake it nor keep it awake", async () => {
  const asleep = await untilAsleep();
  expect(asleep).toMatchObject({
    status: "READY",
    health: { state: "asleep", message: "Asleep. It wakes with the next request." },
    sleep: { allowed: true, wakes_at: null },
  });
  const before = (await servers()).length;
  const probe = await fetch(at(second, "/ok"), { headers });
  expect([probe.status, probe.headers.get("x-treadle-state"), await probe.json()]).toEqual([
    ...[200, "asleep", { ok: true }],
  ]);
  expect((await fetch(at(second, "/ok"))).status).toBe(401);
  expect((await read()).health.state).toBe("asleep");
  expect(await servers()).toHaveLength(before);
}, 120_000);

it("a strange request does not wake it", async () => {
  await untilAsleep();
  expect((await fetch(at(second, "/version"))).status).toBe(401);
  expect((await fetch(at(second, "/version"), { headers: { "x-api-key": "guessed" } })).status).toBe(401);
  expect((await read()).sleep.state).toBe("asleep");
}, 120_000);

it("a stream, a WebSocket, uploads and reads through two gateways wake it once, and none fails", async () => {
  await untilAsleep();
  const before = (await servers()).length;
  const large = "x".repeat(2 * 1024 * 1024);
  const stream = fetch(at(second, "/runs/stream"), {
    ...{ method: "POST", headers: json },
    body: JSON.stringify({ assistant_id: "echo", input: { messages: [] }, stream_mode: "values" }),
  });
  const socket = new WebSocket(
    at(leader, "/threads/0199aaaa-0000-7000-8000-000000000001/stream").replace("http", "ws"),
    {
      headers,
    },
  );
  const opened = new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const others = Array.from({ length: 40 }, async (_, index) => {
    const gateway = index % 2 === 0 ? leader : second;
    if (index % 4 < 2) return (await fetch(at(gateway, "/version"), { headers })).status;
    const answer = await fetch(at(gateway, "/echo"), { method: "POST", headers, body: large });
    return (await answer.text()) === large ? answer.status : "another text";
  });
  const answer = await stream;
  expect(answer.status).toBe(200);
  expect(await answer.text()).toContain("here I am");
  expect(new Set(await Promise.all(others))).toEqual(new Set([200]));
  await opened;
  socket.close();
  expect(await servers()).toHaveLength(before + 1);
  const { health, sleep } = await read();
  expect([health.state, sleep.state]).toEqual(["serving", "awake"]);
}, 120_000);

it("loses no request, however often it falls asleep meanwhile", async () => {
  const wrong: unknown[] = [];
  const states = new Set<string>();
  const before = (await servers()).length;
  let asked = 0;
  let isOver = false;
  const ask = async (gateway: string, betweenMs: number) => {
    while (!isOver) {
      const text = `text ${asked}`;
      const answer = await fetch(at(gateway, "/echo"), { method: "POST", headers, body: text });
      const got = await answer.text();
      if (answer.status !== 200 || got !== text) wrong.push([answer.status, got]);
      asked += 1;
      // Now and then long enough for its server to be stopped in between.
      await pause(betweenMs * (asked % 5));
    }
  };
  const asking = Promise.all([ask(leader, 100), ask(second, 130), ask(second, 170)]);
  try {
    // Where answers come slowly there is always a request that keeps it awake for a while.
    for (let round = 0; round < 20 || (await servers()).length === before; round += 1) {
      const { status, body } = await plane.call<Sleeper>("POST", `/v2/deployments/${deployment.id}/sleep`);
      // 409 while it is waking up.
      if (status === 200) states.add(body.sleep.state);
      const seen = asked;
      await waitUntil(() => asked >= seen + 4, {
        what: "four more answers",
        timeoutMs: 60_000,
        intervalMs: 5,
      });
    }
  } finally {
    isOver = true;
    await asking;
  }
  expect(wrong).toEqual([]);
  expect(states).toContain("falling_asleep");
  expect((await servers()).length).toBeGreaterThan(before);
}, 300_000);

it("one that is waking up is not put to sleep, and the answer says so", async () => {
  await untilAsleep();
  const holder = await leaseHolder();
  const other = holder === platforms[0] ? second : leader;
  const ask = (power: "wake" | "sleep") =>
    fetch(`${other}/v2/deployments/${deployment.id}/${power}`, {
      ...{ method: "POST", headers: json, signal: AbortSignal.timeout(60_000) },
    });
  // Whoever would start its server stands still, so that it is waking until then.
  holder.signal("SIGSTOP");
  try {
    expect(await (await ask("wake")).json()).toMatchObject({ sleep: { state: "waking" } });
    const refused = await ask("sleep");
    const told = ["x-error-code", "retry-after"].map((name) => refused.headers.get(name));
    expect([refused.status, ...told]).toEqual([409, "deployment.waking", "2"]);
    expect(await refused.json()).toEqual({
      detail: expect.stringContaining("Put it to sleep when it is awake"),
    });
  } finally {
    holder.signal("SIGCONT");
  }
  await until(isServing, "it to be awake");
  // From the moment it serves it may sleep again, also before its new state is written.
  expect((await ask("sleep")).status).toBe(200);
  await untilAsleep();
}, 500_000);

it("a delayed run and a cron wake it in time", async () => {
  const run = await fetch(at(second, "/runs"), {
    ...{ method: "POST", headers: json },
    body: JSON.stringify({ assistant_id: "echo", input: { messages: [] }, after_seconds: 40 }),
  });
  const { run_id, thread_id, created_at } = (await run.json()) as Record<string, string>;
  const { wakes_at } = (await untilAsleep(35_000)).sleep;
  const dueMs = Date.parse(created_at!) + 40_000;
  expect(Math.abs(Date.parse(wakes_at!) - (dueMs - 10_000))).toBeLessThan(2_000);
  await until(isServing, "it to be awake by itself");
  const ended = await waitUntil(
    async () => {
      const answer = await fetch(at(second, `/threads/${thread_id}/runs/${run_id}`), { headers });
      const body = (await answer.json()) as { status: string };
      return body.status === "pending" || body.status === "running" ? undefined : body;
    },
    { what: "the delayed run", timeoutMs: 60_000 },
  );
  expect(ended.status).toBe("success");
  // Its server was being started before the run was due.
  expect((await servers()).at(-1)!.started_at.getTime()).toBeLessThan(dueMs);

  const made = await fetch(at(second, "/runs/crons"), {
    ...{ method: "POST", headers: json },
    body: JSON.stringify({
      assistant_id: "echo",
      input: { messages: [] },
      schedule: "* * * * *",
      on_run_completed: "keep",
    }),
  });
  const cron = (await made.json()) as { cron_id: string };
  const asleep = await untilAsleep(90_000);
  expect(asleep.health.message).toMatch(
    /^Asleep\. It wakes with the next request, and at \S+ for what is due then\.$/,
  );
  await until(isServing, "the cron to wake it");
  await waitUntil(
    async () => {
      const found = await fetch(at(second, "/threads/search"), {
        ...{ method: "POST", headers: json },
        body: JSON.stringify({ metadata: { cron_id: cron.cron_id } }),
      });
      return ((await found.json()) as unknown[]).length > 0;
    },
    { what: "a run of the cron", timeoutMs: 60_000 },
  );
  await fetch(at(second, `/runs/crons/${cron.cron_id}`), { method: "DELETE", headers });
}, 300_000);

it("a new revision of one that sleeps is deployed; stopped and started it serves again", async () => {
  await untilAsleep();
  const changed = await plane.call<DeploymentBody>("PATCH", `/v2/deployments/${deployment.id}`, {
    secrets: [{ name: "SUFFIX", value: "!" }],
  });
  const revision = await revisionDone(plane, deployment.id, changed.body.latest_revision_id!);
  expect(revision.status).toBe("DEPLOYED");
  expect(await (await fetch(at(second, "/version"), { headers })).json()).toMatchObject({ suffix: "!" });
  await untilAsleep();
  // What only says whether it may sleep needs no revision.
  const kept = await plane.call<Sleeper>("PATCH", `/v2/deployments/${deployment.id}`, {
    source_config: { resource_spec: { min_scale: 1 } },
  });
  expect(kept.body.latest_revision_id).toBe(changed.body.latest_revision_id);
  expect(kept.body.sleep.allowed).toBe(false);
  await plane.call("PATCH", `/v2/deployments/${deployment.id}`, {
    source_config: { resource_spec: { min_scale: 0 } },
  });
  const stopped = await plane.call<Sleeper>("POST", `/v2/deployments/${deployment.id}/stop`);
  expect(stopped.body).toMatchObject({ health: { state: "stopped" } });
  expect((await fetch(at(second, "/version"), { headers })).status).toBe(503);
  expect((await plane.call("POST", `/v2/deployments/${deployment.id}/wake`)).status).toBe(409);
  await plane.call("POST", `/v2/deployments/${deployment.id}/start`);
  await waitUntil(async () => (await fetch(at(second, "/version"), { headers })).ok, {
    what: "it to serve again",
    timeoutMs: 60_000,
  });
}, 180_000);

it("the platform is killed while it wakes: the request that waits elsewhere is answered", async () => {
  await untilAsleep();
  const waiting = fetch(at(second, "/version"), { headers });
  await waitUntil(async () => (await servers()).some(({ state }) => state === "starting"), {
    what: "a server that starts",
    timeoutMs: 60_000,
    intervalMs: 5,
  });
  platforms[0]!.signal("SIGKILL");
  await platforms[0]!.waitExit();
  expect((await waiting).status).toBe(200);
  platforms = platforms.slice(1);
  leader = second;
  // And a sleeping deployment stays asleep, whichever server takes it over.
  const before = (await untilAsleep()).sleep;
  leader = await start("third");
  const owner = async () =>
    (await raw<{ owner: string }>`select owner from control_plane_lease`.execute(database.database.sql))
      .rows[0]?.owner;
  const last = await owner();
  platforms[0]!.signal("SIGKILL");
  await platforms[0]!.waitExit();
  platforms = platforms.slice(1);
  await waitUntil(async () => (await owner()) !== last, { what: "another leader", timeoutMs: 60_000 });
  expect((await read()).sleep).toEqual(before);
  expect((await servers()).filter(({ state }) => state !== "exited")).toEqual([]);
  expect((await fetch(at(leader, "/version"), { headers })).status).toBe(200);
}, 180_000);
