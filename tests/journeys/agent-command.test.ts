import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { exitCodes } from "../../src/cli/exit-codes.ts";
import { type RunningAgent, spawnAgent, startAgent } from "../support/agent-command.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createDataParent } from "../support/treadle.ts";

const journal = fileURLToPath(new URL("../fixtures/projects/journal/langgraph.json", import.meta.url));
const emptied = fileURLToPath(
  new URL("../fixtures/projects/journal/langgraph.emptied.json", import.meta.url),
);
const token = { LG_WEBHOOK_TOKEN: "a-token-for-receivers" };

let database: TestDatabase;
let folder: string;
const running: RunningAgent[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "treadle-agent-"));
});

afterAll(async () => {
  for (const agent of running) await agent.process.kill();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function start(
  env: Record<string, string> = {},
  config = journal,
): Promise<RunningAgent & { client: Client }> {
  const agent = await startAgent(config, { DATABASE_URL: database.url, ...token, ...env });
  running.push(agent);
  return { ...agent, client: clientOf(agent) };
}

/** One that does not outlive its test: it would take the runs of the next. */
async function startHere(...given: Parameters<typeof start>): ReturnType<typeof start> {
  const agent = await start(...given);
  onTestFinished(async () => {
    await agent.process.kill();
  });
  return agent;
}

function clientOf(agent: RunningAgent): Client {
  return new Client({ apiUrl: agent.ready.url, apiKey: null, callerOptions: { maxRetries: 0 } });
}

describe("one project, served alone", () => {
  let agent: RunningAgent & { client: Client };

  beforeAll(async () => {
    agent = await start({
      LANGGRAPH_CONFIG: JSON.stringify({ journal: { configurable: { tone: "calm" } } }),
    });
  });

  afterAll(async () => {
    expect(await agent.process.stop()).toMatchObject({ code: 0 });
  });

  test("says what it serves, and why it does not serve the rest", async () => {
    expect(agent.ready).toMatchObject({ graphs: ["journal", "stuck"], database: "external" });
    expect(agent.ready.broken.broken).toContain("a-package-nobody-installed");
    const thread = await agent.client.threads.create();
    await expect(agent.client.runs.wait(thread.thread_id, "broken", { input: {} })).rejects.toThrow(
      /HTTP 409.*broken.* cannot be used: loading the file failed/,
    );
  });

  test.each([
    ["/ok", 200],
    ["/info", 200],
    ["/metrics", 200],
    ["/docs", 200],
    ["/openapi.json", 200],
    ["/a2a/journal", 404],
  ])("GET %s is %i", async (path, status) => {
    expect((await fetch(agent.ready.url + path)).status).toBe(status);
  });

  test("runs TypeScript as people write it, with the project's environment and the assistant's config", async () => {
    const thread = await agent.client.threads.create();
    const values = await agent.client.runs.wait(thread.thread_id, "journal", { input: {} });
    expect(values).toMatchObject({
      pages: ["first", "second", "third"],
      greeting: "hello",
      seen: { tone: "calm" },
    });
  });

  test("streams", async () => {
    const events: string[] = [];
    for await (const event of agent.client.runs.stream(null, "journal", {
      input: {},
      streamMode: "updates",
    })) {
      events.push(event.event === "updates" ? Object.keys(event.data as object).join() : event.event);
    }
    expect(events).toEqual(["metadata", "first", "second", "third"]);
  });

  test("gives new threads the project's time to live, also those made with a run", async () => {
    const made = await agent.client.threads.create();
    const run = await agent.client.runs.create(crypto.randomUUID(), "journal", {
      input: {},
      ifNotExists: "create",
    });
    await agent.client.runs.join(run.thread_id, run.run_id);
    for (const id of [made.thread_id, run.thread_id]) {
      const answer = await fetch(`${agent.ready.url}/threads/${id}?include=ttl`);
      expect(await answer.json()).toMatchObject({ ttl: { strategy: "delete", ttl_minutes: 60 } });
    }
  });
});

describe("between the tests of others", () => {
  const everything = { threads: true, runs: true, assistants: true, checkpointer: true, store: true };
  const truncate = (agent: RunningAgent, body: object) =>
    fetch(`${agent.ready.url}/internal/truncate`, { method: "POST", body: JSON.stringify(body) });

  test("a server cannot be emptied over HTTP by itself", async () => {
    const agent = await startHere();
    const answer = await truncate(agent, everything);
    expect(answer.status).toBe(404);
  });

  test("an application of the project's empties it", async () => {
    const agent = await startHere({}, emptied);
    const thread = await agent.client.threads.create();
    await agent.client.runs.wait(thread.thread_id, "journal", { input: {} });
    await agent.client.assistants.create({ graphId: "journal", name: "made by a test" });
    await agent.client.store.putItem(["notes"], "one", { text: "made by a test" });
    const unknown = await truncate(agent, { everything: true });
    expect(unknown.status).toBe(422);
    const answer = await truncate(agent, everything);
    expect(await answer.json()).toEqual({ ok: true });
    expect(await agent.client.threads.search()).toEqual([]);
    expect((await agent.client.store.searchItems(["notes"])).items).toEqual([]);
    const left = await agent.client.assistants.search({ graphId: "journal" });
    expect(left).toMatchObject([{ metadata: { created_by: "system" } }]);
  });
});

describe("a process that dies", () => {
  test("in the middle of a node: the next one goes on from the last checkpoint", async () => {
    const file = join(folder, "journal.txt");
    const gate = join(folder, "gate");
    const lease = { TREADLE_RUN_LEASE_SECONDS: "4" };
    const first = await startHere(lease);
    const thread = await first.client.threads.create();
    // So that the first node's checkpoint is there when the second one begins.
    const run = await first.client.runs.create(thread.thread_id, "journal", {
      input: { file, gate },
      durability: "sync",
    });
    await waitUntil(async () => (await readText(file)).includes("second"), {
      what: "the second node to begin",
      timeoutMs: 20_000,
    });
    await first.process.kill();
    await writeFile(gate, "");
    const second = await startHere(lease);
    await second.client.runs.join(thread.thread_id, run.run_id);
    expect(await second.client.runs.get(thread.thread_id, run.run_id)).toMatchObject({ status: "success" });
    const state = await second.client.threads.getState<{ pages: string[] }>(thread.thread_id);
    expect(state.values.pages).toEqual(["first", "second", "third"]);
    expect((await readText(file)).trim().split("\n")).toEqual(["first", "second", "second", "third"]);
    expect(await second.process.stop()).toMatchObject({ code: 0 });
  }, 90_000);

  test("returns its runs to the queue when it is asked to stop, and the next one goes on", async () => {
    const file = join(folder, "stopped.txt");
    const gate = join(folder, "stopped-gate");
    const first = await startHere({ BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS: "0" });
    const thread = await first.client.threads.create();
    const run = await first.client.runs.create(thread.thread_id, "journal", { input: { file, gate } });
    await waitUntil(async () => (await readText(file)).includes("second"), {
      what: "the second node to begin",
      timeoutMs: 20_000,
    });
    expect(await first.process.stop()).toMatchObject({ code: 0 });
    expect(first.process.output()).toContain(`run ${run.run_id} (returned to the queue)`);
    await writeFile(gate, "");
    const second = await startHere();
    await second.client.runs.join(thread.thread_id, run.run_id);
    expect(await second.client.runs.get(thread.thread_id, run.run_id)).toMatchObject({ status: "success" });
    await second.process.stop();
  }, 90_000);
});

test("the watchdog ends a blocked process, and a run that blocks each one fails with the reason", async () => {
  const env = { TREADLE_RUN_LEASE_SECONDS: "3", TREADLE_WATCHDOG_SECONDS: "1" };
  const first = await startHere(env);
  const thread = await first.client.threads.create();
  const run = await first.client.runs.create(thread.thread_id, "stuck", { input: {} });
  let blocked = first.process;
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    // The run may be taken again before the process reports that it is ready, so nobody waits for that.
    if (attempt > 1) {
      const next = spawnAgent(journal, { DATABASE_URL: database.url, ...token, ...env });
      onTestFinished(async () => {
        await next.kill();
      });
      blocked = next;
    }
    expect(await blocked.waitExit(60_000)).toMatchObject({ code: exitCodes.blocked.code });
    expect(blocked.output()).toMatch(/event loop has been blocked for 1 s.*spinForEver .*stuck\.ts/);
  }
  const last = await startHere(env);
  await last.client.runs.join(thread.thread_id, run.run_id);
  const answer = await fetch(`${last.ready.url}/threads/${thread.thread_id}`);
  expect(await answer.json()).toMatchObject({
    status: "error",
    error: { error: "AttemptsExhausted", message: expect.stringContaining("started 3 times") },
  });
  expect(await last.client.runs.get(thread.thread_id, run.run_id)).toMatchObject({ status: "error" });
  await last.process.stop();
}, 150_000);

describe("a start that cannot be", () => {
  const missing = join(tmpdir(), "treadle-no-such-project", "langgraph.json");

  test.each([
    ["no such project", missing, {}, exitCodes.projectUnusable.code, /cannot be read/],
    [
      "a bad setting",
      journal,
      { N_JOBS_PER_WORKER: "many" },
      exitCodes.configInvalid.code,
      /N_JOBS_PER_WORKER/,
    ],
    [
      "open to the world without a key",
      journal,
      { TREADLE_HOST: "0.0.0.0", ...token },
      exitCodes.configInvalid.code,
      /set TREADLE_API_KEY/,
    ],
    [
      "a header without its variable",
      journal,
      {},
      exitCodes.configInvalid.code,
      /LG_WEBHOOK_TOKEN is not set/,
    ],
  ])("%s", async (_name, path, env, code, message) => {
    const child = spawnAgent(path, { DATABASE_URL: database.url, ...env });
    expect(await child.waitExit(30_000)).toMatchObject({ code });
    expect(child.output()).toMatch(message);
  });
});

test("without a database it brings its own, beside the key it asks for", async () => {
  const parent = await createDataParent("agent");
  const env = {
    ...token,
    TREADLE_DATA_DIR: join(parent.path, "data"),
    TREADLE_API_KEY: "a-key-of-the-operator",
  };
  const agent = await startAgent(journal, env);
  running.push(agent);
  try {
    expect(agent.ready.database).toBe("embedded");
    expect(await readText(join(env.TREADLE_DATA_DIR, ".gitignore"))).toBe("*\n");
    const search = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
    expect((await fetch(`${agent.ready.url}/threads/search`, search)).status).toBe(401);
    const client = new Client({ apiUrl: agent.ready.url, apiKey: env.TREADLE_API_KEY });
    expect(await client.runs.wait(null, "journal", { input: {} })).toMatchObject({ greeting: "hello" });
    expect(await agent.process.stop()).toMatchObject({ code: 0 });
  } finally {
    await agent.process.kill();
    await parent.remove();
  }
}, 60_000);

async function readText(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
}
