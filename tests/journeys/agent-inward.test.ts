import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningAgent, spawnAgent, startAgent } from "../support/agent-command.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

/** What a project's own code finds in the server it runs in, and what the server makes of a project that is not right. */
const inward = fileURLToPath(new URL("../fixtures/projects/inward/langgraph.json", import.meta.url));
const guarded = fileURLToPath(new URL("../fixtures/projects/guarded/langgraph.json", import.meta.url));
const secret = "a-secret-only-the-gateway-says";
const logged = { TREADLE_LOG_LEVEL: "info" };

let database: TestDatabase;
let agent: RunningAgent;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  // As behind the gateway, with a key of another service in the environment.
  agent = await startAgent(inward, {
    DATABASE_URL: database.url,
    TREADLE_INSTANCE_SECRET: secret,
    LANGSMITH_API_KEY: "a-key-of-a-tracing-service",
    ...logged,
  });
  client = clientOf(agent, { "x-treadle-instance-secret": secret });
});
afterAll(async () => {
  await agent?.process.stop();
  await database?.drop();
});

function clientOf({ ready }: RunningAgent, defaultHeaders: Record<string, string>): Client {
  return new Client({
    apiUrl: ready.url,
    apiKey: null,
    callerOptions: { maxRetries: 0 },
    defaultHeaders,
  });
}
const get = async (path: string) =>
  (await fetch(agent.ready.url + path, { headers: { "x-treadle-instance-secret": secret } })).json();

describe("a project's own code", () => {
  test("may export the promise of a graph, and reads its config from the project's env", async () => {
    expect(await client.runs.wait(null, "promised", { input: {} })).toEqual({ said: ["calm"] });
  });

  test("logs with the SDK's logger", async () => {
    await client.runs.wait(null, "promised", { input: {} });
    const line = await agent.process.waitForLine(/a word from the graph/, 10_000);
    expect(JSON.parse(line)).toMatchObject({ source: "project", fields: { node: "speak" } });
    await agent.process.waitForLine(/and a warning/, 10_000);
  });

  test("reaches its server with a client without an address, in a node and in a route", async () => {
    const { said } = (await client.runs.wait(null, "caller", { input: {} })) as { said: string[] };
    expect(said).toEqual(["caller", "made", "nested", "promised", "refused", "calm"]);
    expect(await get("/own")).toBe(5);
  });

  test("makes a graph from the thread's config, also where a state is read or changed", async () => {
    const { thread_id } = await client.threads.create();
    const config = { configurable: { node: "speaker" } };
    await client.runs.wait(thread_id, "made", { input: {}, config });
    expect((await client.threads.getState(thread_id)).values).toEqual({ said: ["speaker"] });
    await client.threads.updateState(thread_id, { values: { said: ["more"] }, asNode: "speaker" });
    const history = await client.threads.getHistory(thread_id);
    expect(history[0]!.values).toEqual({ said: ["speaker", "more"] });
  });
});

describe("a webhook without a host", () => {
  test("calls the project's own route, and shows it no secret", async () => {
    const run = await client.runs.create(null, "promised", { input: {}, webhook: "/hook" });
    type Received = { headers: object; body: { run_id: string; status: string; values: unknown } }[];
    const received = async () => (await get("/received")) as Received;
    await waitUntil(async () => (await received()).length > 0, { what: "the webhook", timeoutMs: 20_000 });
    const [first] = await received();
    expect(first!.body).toMatchObject({ run_id: run.run_id, status: "success", values: { said: ["calm"] } });
    expect(JSON.stringify(first!.headers)).not.toContain(secret);
  });

  test("reaches none of the server's routes", async () => {
    const before = await client.threads.count();
    const run = await client.runs.create(null, "promised", { input: {}, webhook: "/threads" });
    await agent.process.waitForLine(new RegExp(`${run.run_id}.* with status 404`), 20_000);
    expect(await client.threads.count()).toBeLessThanOrEqual(before + 1);
  });
});

describe("a graph that did not load", () => {
  test("says why at once: clients do not ask again", async () => {
    let asked = 0;
    const counting = new Client({
      apiUrl: agent.ready.url,
      apiKey: null,
      defaultHeaders: { "x-treadle-instance-secret": secret },
      callerOptions: {
        fetch: ((...args: Parameters<typeof fetch>) => {
          asked += 1;
          return fetch(...args);
        }) as typeof fetch,
      },
    });
    const words = /HTTP 409.*refused.*the library of words is closed/;
    await expect(counting.runs.wait(null, "refused", { input: {} })).rejects.toThrow(words);
    expect(asked).toBe(1);
  });
});

describe("messages of a subgraph", () => {
  test("keep their names", async () => {
    const { thread_id } = await client.threads.create();
    const input = { messages: [{ role: "user", content: "say it" }] };
    const streamMode = ["messages", "messages-tuple", "tasks"] as ("messages" | "messages-tuple" | "tasks")[];
    const names = new Set<string>();
    let task: { checkpoint?: object; state?: unknown } | undefined;
    for await (const part of client.runs.stream(thread_id, "nested", {
      input,
      streamMode,
      streamSubgraphs: true,
    })) {
      names.add(part.event.replaceAll(/:[0-9a-f-]{36}/g, ":id"));
      if (part.event === "tasks" && part.data && "input" in (part.data as object))
        task ??= part.data as never;
    }
    expect(names).toContain("messages/metadata");
    expect(names).toContain("messages/partial");
    expect(names).toContain("messages/complete");
    expect([...names].some((name) => name.startsWith("messages|inner:id"))).toBe(true);
    expect([...names].filter((name) => /^messages\/.*\|/.test(name))).toEqual([]);
    expect(task).toMatchObject({ name: "inner" });
  });
});

describe("a webhook to a route behind the server's key", () => {
  const key = "a-key-of-16-characters-or-more";
  const config = JSON.parse(readFileSync(guarded, "utf8")) as object;
  type Received = { run_id: string }[];

  async function begin(
    webhooks: object | undefined,
    use: (agent: RunningAgent, runId: string) => Promise<void>,
  ) {
    // Beside the project's files, whose paths are relative.
    const configPath = join(dirname(guarded), `langgraph.${webhooks ? "told" : "untold"}.json`);
    await writeFile(configPath, JSON.stringify({ ...config, ...(webhooks ? { webhooks } : {}) }));
    // Servers on one database share their work.
    const apart = await createTestDatabase();
    try {
      const env = { DATABASE_URL: apart.url, TREADLE_API_KEY: key, LG_WEBHOOK_KEY: key, ...logged };
      const keyed = await startAgent(configPath, env);
      try {
        const inside = clientOf(keyed, { "x-api-key": key });
        const { runs } = (await inside.runs.wait(null, "begins", { input: {} })) as { runs: string[] };
        await use(keyed, runs[0]!);
      } finally {
        await keyed.process.stop();
      }
    } finally {
      await apart.drop();
      await rm(configPath, { force: true });
    }
  }
  const receivedBy = async ({ ready }: RunningAgent) =>
    (await (await fetch(`${ready.url}/received`, { headers: { "x-api-key": key } })).json()) as Received;

  test("is no request of the project, although the project's own code began the run: it needs the key", async () => {
    await begin(undefined, async (keyed, runId) => {
      await keyed.process.waitForLine(new RegExp(`${runId}.* with status 401`), 20_000);
      expect(await receivedBy(keyed)).toEqual([]);
    });
  });

  test("gets in with the key that the project's file gives it", async () => {
    const webhooks = { headers: { "x-api-key": ["$", "{{ env.LG_WEBHOOK_KEY }}"].join("") } };
    await begin(webhooks, async (keyed, runId) => {
      const received = await waitUntil(
        async () => {
          const all = await receivedBy(keyed);
          return all.length > 0 ? all : undefined;
        },
        { what: "the webhook", timeoutMs: 20_000, evidence: () => keyed.process.output() },
      );
      expect(received).toMatchObject([{ run_id: runId, status: "success" }]);
    });
  });
});

test("a server that asks for its key lets its own project in without one", async () => {
  const keyed = await startAgent(inward, {
    DATABASE_URL: database.url,
    TREADLE_API_KEY: "a-key-of-16-characters-or-more",
    LANGSMITH_API_KEY: "a-key-of-a-tracing-service",
  });
  try {
    const outside = clientOf(keyed, {});
    await expect(outside.assistants.search()).rejects.toThrow(/HTTP 401/);
    const inside = clientOf(keyed, { "x-api-key": "a-key-of-16-characters-or-more" });
    const { said } = (await inside.runs.wait(null, "caller", { input: {} })) as { said: string[] };
    expect(said).toContain("calm");
  } finally {
    await keyed.process.stop();
  }
});

test("a tsconfig that extends a package nobody installed is named, and so is the package", async () => {
  const folder = await mkdtemp(join(tmpdir(), "treadle-tsconfig-"));
  try {
    await writeFile(
      join(folder, "tsconfig.json"),
      JSON.stringify({ extends: "@tsconfig/nobody/tsconfig.json" }),
    );
    await writeFile(join(folder, "graph.ts"), "export const graph = {};");
    await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs: { g: "./graph.ts:graph" } }));
    const child = spawnAgent(join(folder, "langgraph.json"), { DATABASE_URL: database.url });
    await child.waitForLine(
      /tsconfig\.json extends @tsconfig\/nobody.*Install the package @tsconfig\/nobody/,
      30_000,
    );
    await child.kill();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
