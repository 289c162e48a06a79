import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Endpoint } from "../../src/control-plane/endpoints/endpoint.ts";
import { listEndpoints, saveEndpoints } from "../../src/control-plane/endpoints/endpoint-store.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { compiledAgent } from "../support/compiled-agent.ts";
import { freePort } from "../support/components/free-port.ts";
import { type GitServer, startGitServer } from "../support/components/git-server.ts";
import { type ChildProcess, spawnProcess } from "../support/components/process.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { dropDeploymentDatabases } from "../support/control-plane.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type DeploymentBody, deploy, gitDeployment, type PlaneCalls } from "../support/deployments.ts";
import { quickInstall, quickProject } from "../support/quick-project.ts";

const script = fileURLToPath(new URL("../support/control-plane-child.ts", import.meta.url));
const apiKey = "a-key-for-several-gateways";
const workspaceId = "5e1f0000-0000-4000-8000-000000000002";
/** An address of this machine that is not the one everybody assumes. */
const agentHost = "127.0.0.2";
const headers = { "x-api-key": apiKey, "x-tenant-id": workspaceId };

let git: GitServer;
let folders: TempFolder[];
let database: TestDatabase;
const platforms: ChildProcess[] = [];
/** The first one looks after deployments; the second one only serves; the third one's notifications are cut. */
let leader: string;
let second: string;
let deaf: string;
let plane: PlaneCalls;
let deployment: DeploymentBody;

async function start(name: string): Promise<string> {
  const folder = await createTempFolder(`gateways-${name}`);
  folders.push(folder);
  const settings = { agentHost, bakeMs: 300, drainMs: 60_000, compileCache: await compiledAgent() };
  const place = { databaseUrl: database.url, applicationName: name, folder: folder.path };
  const options = { ...place, apiKey, workspaceId, settings };
  const args = [script, JSON.stringify({ ...options, logLevel: process.env.TEST_LOG ?? "silent" })];
  const child = spawnProcess(process.execPath, args, { name });
  platforms.push(child);
  return (await child.waitForLine(/^ready /)).slice("ready ".length);
}

const deafName = "deaf";
let cuts = 0;
let isCutting = true;
let cutting: Promise<void>;

async function cut(which: ReturnType<typeof raw>): Promise<void> {
  const { rows } = await raw`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = ${deafName} and ${which}`.execute(database.database.sql);
  cuts += rows.length;
}

/** Ends the connection for notifications of one process whenever it has opened it. */
async function cutNotifications(): Promise<void> {
  while (isCutting) {
    await cut(raw`query ilike 'listen %'`);
    await pause(10);
  }
}

beforeAll(async () => {
  folders = [];
  database = await createTestDatabase();
  git = await startGitServer();
  leader = await start("leader");
  second = await start("second");
  deaf = await start(deafName);
  plane = {
    async call(method, path, body) {
      const json = body === undefined ? {} : { "content-type": "application/json" };
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const answer = await fetch(`${leader}${path}`, { method, headers: { ...headers, ...json }, ...sent });
      return { status: answer.status, body: (await answer.json()) as never };
    },
  };
  const { url } = await git.createRepository("several", quickProject("several"));
  const source_config = { repo_url: url, install_command: quickInstall };
  const made = await deploy(plane, gitDeployment("several", url, { source_config }));
  expect(made.revision).toMatchObject({ status: "DEPLOYED" });
  deployment = made.deployment;
  await cut(raw`true`);
  await waitUntil(async () => (await fetch(at(deaf, "/version"), { headers })).ok, {
    what: "the deaf gateway with new connections",
    timeoutMs: 20_000,
  });
  cutting = cutNotifications();
}, 180_000);

afterAll(async () => {
  isCutting = false;
  await cutting;
  await Promise.all(platforms.map((platform) => platform.stop("SIGTERM", 30_000)));
  await git?.stop();
  if (database) await dropDeploymentDatabases(database.database);
  await database?.drop();
  for (const folder of folders) await folder.remove();
});

type Row = { id: string; port: number; state: string };
async function instances(): Promise<Row[]> {
  const { rows } = await raw<Row>`
    select id, port, state from deployment_instances where deployment_id = ${deployment.id} order by started_at`.execute(
    database.database.sql,
  );
  return rows;
}
const serving = async () => (await instances()).find(({ state }) => state === "ready")!;

const at = (gateway: string, path: string) => `${gateway}/d/${deployment.slug}${path}`;

/** Another server of the same project takes over; answers when the one before is gone. */
async function replaceServer(value: string): Promise<void> {
  const before = await serving();
  const changed = await plane.call<DeploymentBody>("PATCH", `/v2/deployments/${deployment.id}`, {
    secrets: [{ name: "SUFFIX", value }],
  });
  expect(changed.status).toBe(200);
  await waitUntil(
    async () => (await instances()).some(({ id, state }) => id === before.id && state === "exited"),
    { what: "the end of the server before", timeoutMs: 90_000 },
  );
}

/** Asks one gateway again and again until it is over, and keeps everything that was not as it should be. */
function askAll(gateway: string, isOver: () => boolean, atOnce = 4) {
  const wrong: unknown[] = [];
  const ask = async () => {
    while (!isOver()) {
      all.asked += 1;
      const text = `text ${all.asked}`;
      const echoes = all.asked % 2 === 0;
      try {
        const answer = echoes
          ? await fetch(at(gateway, "/echo"), { headers, method: "POST", body: text })
          : await fetch(at(gateway, "/version"), { headers });
        const got = await answer.text();
        if (answer.status !== 200 || (echoes && got !== text)) wrong.push([answer.status, got]);
      } catch (error) {
        wrong.push(error);
      }
    }
  };
  const all = { asked: 0, wrong, over: Promise.resolve<unknown>(undefined) };
  all.over = Promise.all(Array.from({ length: atOnce }, ask));
  return all;
}

describe("several gateways on one database", () => {
  it("a stream through one goes on while another process replaces the server", async () => {
    const answer = await fetch(at(second, "/slow"), { headers });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader.read()).value!;
    const replaced = replaceServer("after the stream");
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
    expect(text.match(/^data: \d+$/gm)).toHaveLength(30);
    await replaced;
    expect(await (await fetch(at(second, "/version"), { headers })).json()).toMatchObject({
      suffix: "after the stream",
    });
  }, 120_000);

  it("stop the server before only when no gateway holds a stream to it any more", async () => {
    const before = await serving();
    const stream = new AbortController();
    const answer = await fetch(at(second, "/slow?parts=3000"), { headers, signal: stream.signal });
    const reader = answer.body!.getReader();
    await reader.read();
    const replaced = replaceServer("after a long stream");
    const state = async () => (await instances()).find(({ id }) => id === before.id)!.state;
    await waitUntil(async () => (await state()) !== "ready", { what: "the drain", timeoutMs: 60_000 });
    // Several times as long as its end takes once nothing is under way.
    for (const until = Date.now() + 4_000; Date.now() < until; ) {
      expect(await state()).toBe("draining");
      expect((await reader.read()).done).toBe(false);
    }
    stream.abort();
    await replaced;
  }, 120_000);

  it("lose no request while servers are replaced, one of them with its notifications cut", async () => {
    let isOver = false;
    const both = [second, deaf].map((gateway) => askAll(gateway, () => isOver));
    const asked = () => both.reduce((sum, each) => sum + each.asked, 0);
    let rounds = 0;
    try {
      for (const value of ["one", "two", "three"]) {
        await replaceServer(value);
        rounds += 1;
      }
      await waitUntil(() => asked() >= 5_000, { what: "5,000 requests", timeoutMs: 120_000 });
    } finally {
      isOver = true;
    }
    await Promise.all(both.map(({ over }) => over));
    expect(both.map(({ wrong }) => wrong)).toEqual([[], []]);
    expect(rounds).toBe(3);
    expect(cuts).toBeGreaterThan(0);
  }, 300_000);

  it("count together what is under way", async () => {
    const stop = new AbortController();
    const answers = await Promise.all(
      [leader, second, deaf].map((gateway) => fetch(at(gateway, "/slow"), { headers, signal: stop.signal })),
    );
    type Metrics = { instances: { in_flight: number }[] };
    await waitUntil(
      async () => {
        const { body } = await plane.call<Metrics>("GET", `/v2/deployments/${deployment.id}/metrics`);
        return body.instances.some(({ in_flight }) => in_flight === 3);
      },
      { what: "three requests under way", timeoutMs: 2_800 },
    );
    stop.abort();
    await Promise.allSettled(answers.map((answer) => answer.text()));
  }, 30_000);
});

describe("a gateway that died", () => {
  it("holds nothing up once its time is over", async () => {
    const mortal = await start("mortal");
    const answer = await fetch(at(mortal, "/slow"), { headers });
    await answer.body!.getReader().read();
    const held = async () => {
      const { rows } = await raw`select 1 from gateways where held <> '{}'`.execute(database.database.sql);
      return rows.length > 0;
    };
    await waitUntil(held, { what: "what it holds", timeoutMs: 5_000 });
    const child = platforms.at(-1)!;
    child.signal("SIGKILL");
    await child.waitExit();
    await replaceServer("after a death");
  }, 120_000);
});

describe("an endpoint of a server", () => {
  const withEndpoint = async (more: Endpoint, work: () => Promise<void>) => {
    const { id } = await serving();
    const own = await listEndpoints(database.database.sql, id);
    const save = (all: Endpoint[]) => database.database.transaction((tx) => saveEndpoints(tx, id, all));
    await save([...own, more]);
    try {
      await work();
    } finally {
      await save(own);
    }
  };
  const ask = async () => {
    const from = performance.now();
    const answer = await fetch(at(second, "/version"), { headers });
    return { status: answer.status, text: await answer.text(), ms: performance.now() - from };
  };

  it("is at the address of its machine", async () => {
    const { id, port } = await serving();
    expect(await listEndpoints(database.database.sql, id)).toEqual([
      { name: "main", host: agentHost, port, ready: true },
    ]);
  });

  it("that takes no connection costs no request", async () => {
    const dead = { name: "dead", host: "127.0.0.1", port: await freePort(), ready: true };
    await withEndpoint(dead, async () => {
      for (let round = 0; round < 50; round += 1) expect(await ask()).toMatchObject({ status: 200 });
    });
  }, 60_000);

  it("that dies is avoided within half a second", async () => {
    const replica = createServer((_request, response) => response.end("of the replica"));
    await new Promise<void>((resolve) => replica.listen(0, "127.0.0.1", resolve));
    const { port } = replica.address() as AddressInfo;
    await withEndpoint({ name: "replica", host: "127.0.0.1", port, ready: true }, async () => {
      await waitUntil(async () => (await ask()).text === "of the replica", {
        what: "an answer of the replica",
        timeoutMs: 10_000,
      });
      const answers = await Promise.all(Array.from({ length: 20 }, ask));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(2);
      replica.close();
      replica.closeAllConnections();
      for (let round = 0; round < 50; round += 1) {
        const { status, text, ms } = await ask();
        expect({ status, isReplica: text === "of the replica" }).toEqual({ status: 200, isReplica: false });
        expect(ms).toBeLessThan(500);
      }
    });
  }, 60_000);

  it("answers nobody but gateways", async () => {
    const { port } = await serving();
    const own = `${agentHost}:${port}`;
    for (const path of ["/ok", "/version", "/threads/search"])
      expect((await fetch(`http://${own}${path}`)).status).toBe(403);
    const socket = new WebSocket(`ws://${own}/threads/x/stream`, {
      headers: { "x-treadle-instance-secret": "guessed" },
    });
    const refusal = await new Promise<Error>((resolve) => socket.once("error", resolve));
    expect(refusal.message).toContain("403");
    await expect(fetch(`http://127.0.0.1:${port}/ok`)).rejects.toThrow("fetch failed");
  });
});
