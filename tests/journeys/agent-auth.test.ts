import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { raw } from "../../src/platform/db/raw.ts";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const owned = fileURLToPath(new URL("../fixtures/projects/owned/langgraph.json", import.meta.url));

let database: TestDatabase;
let agent: RunningAgent;
let ada: Client;
let bob: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  agent = await startAgent(owned, { DATABASE_URL: database.url });
  ada = clientOf("token-of-ada");
  bob = clientOf("token-of-bob");
});

afterAll(async () => {
  await agent.process.stop();
  await database.drop();
});

function clientOf(token: string): Client {
  return new Client({
    apiUrl: agent.ready.url,
    apiKey: null,
    callerOptions: { maxRetries: 0 },
    defaultHeaders: { authorization: `Bearer ${token}`, "x-mood": "curious" },
  });
}

async function call(
  method: string,
  path: string,
  options: { token?: string; body?: unknown; headers?: object } = {},
) {
  const response = await fetch(agent.ready.url + path, {
    method,
    headers: {
      ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      ...options.headers,
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

describe("who may come in", () => {
  test.each([
    ["nobody", undefined, 401, /who are you/],
    ["a stranger", "token-of-eve", 401, /who are you/],
    ["one whose token the project's code chokes on", "garbled", 401, /refused this request/],
    ["ada", "token-of-ada", 200, /\[/],
  ])("%s", async (_name, token, status, text) => {
    const answer = await call("POST", "/threads/search", { body: {}, ...(token ? { token } : {}) });
    expect(answer.status).toBe(status);
    expect(answer.text).toMatch(text);
  });

  test("health and facts need no credential", async () => {
    expect((await call("GET", "/ok")).status).toBe(200);
    expect((await call("GET", "/info")).status).toBe(200);
  });

  test("the studio, from this machine only", async () => {
    const studio = { "x-auth-scheme": "langsmith" };
    expect((await call("POST", "/threads/search", { body: {}, headers: studio })).status).toBe(200);
    const foreign = { ...studio, "x-forwarded-host": "evil.example", host: "evil.example" };
    expect(await statusWithHost("/threads/search", foreign)).toBe(401);
  });
});

/** `fetch` does not let a caller choose the Host header. */
async function statusWithHost(path: string, headers: Record<string, string>): Promise<number> {
  const { request } = await import("node:http");
  return new Promise((resolve, reject) => {
    const outgoing = request(agent.ready.url + path, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
    });
    outgoing.on("response", (incoming) => {
      incoming.resume();
      resolve(incoming.statusCode ?? 0);
    });
    outgoing.on("error", reject);
    outgoing.end("{}");
  });
}

describe("what is whose", () => {
  test("a thread belongs to its maker, and to others it does not exist", async () => {
    const { thread_id } = await ada.threads.create({ metadata: { topic: "tea" } });
    expect((await ada.threads.get(thread_id)).metadata).toMatchObject({ topic: "tea", owner: "ada" });
    const missing = /HTTP 404/;
    await expect(bob.threads.get(thread_id)).rejects.toThrow(missing);
    await expect(bob.threads.update(thread_id, { metadata: { topic: "beer" } })).rejects.toThrow(missing);
    await expect(bob.threads.getState(thread_id)).rejects.toThrow(missing);
    await expect(bob.threads.getHistory(thread_id)).rejects.toThrow(missing);
    await expect(bob.threads.copy(thread_id)).rejects.toThrow(missing);
    await expect(bob.runs.list(thread_id)).rejects.toThrow(missing);
    await expect(bob.runs.create(thread_id, "whoami", { input: {} })).rejects.toThrow(missing);
    expect((await ada.threads.search()).map((thread) => thread.thread_id)).toContain(thread_id);
    expect((await bob.threads.search()).map((thread) => thread.thread_id)).not.toContain(thread_id);
    expect(await bob.threads.count({ metadata: { topic: "tea" } })).toBe(0);
  });

  test("nobody takes a thread over by naming its id", async () => {
    const { thread_id } = await ada.threads.create();
    await expect(bob.threads.create({ threadId: thread_id, ifExists: "do_nothing" })).rejects.toThrow(
      /HTTP 409/,
    );
    await expect(bob.runs.create(thread_id, "whoami", { input: {}, ifNotExists: "create" })).rejects.toThrow(
      /HTTP 404/,
    );
    const claimed = await bob.threads.create({ metadata: { owner: "ada" } });
    expect(claimed.metadata).toMatchObject({ owner: "bob" });
    const made = await bob.runs.create(crypto.randomUUID(), "whoami", {
      input: {},
      ifNotExists: "create",
      metadata: { owner: "ada", topic: "tea" },
    });
    expect((await bob.threads.get(made.thread_id)).metadata).toMatchObject({ owner: "bob", topic: "tea" });
  });

  test("runs are their thread's, and a thread made with a run is the caller's", async () => {
    const run = await ada.runs.create(crypto.randomUUID(), "whoami", { input: {}, ifNotExists: "create" });
    await ada.runs.join(run.thread_id, run.run_id);
    expect((await ada.threads.get(run.thread_id)).metadata).toMatchObject({ owner: "ada" });
    expect(run.metadata).toMatchObject({ owner: "ada" });
    await expect(bob.runs.get(run.thread_id, run.run_id)).rejects.toThrow(/HTTP 404/);
    await expect(bob.runs.cancel(run.thread_id, run.run_id)).rejects.toThrow(/HTTP 404/);
    const joined: unknown[] = [];
    for await (const part of bob.runs.joinStream(run.thread_id, run.run_id)) joined.push(part);
    expect(joined).toMatchObject([
      { event: "error", data: { message: `404: Run with ID ${run.run_id} not found` } },
    ]);
    expect((await call("GET", `/runs/${run.run_id}/stream`, { token: "token-of-bob" })).status).toBe(404);
    expect((await call("GET", `/runs/${run.run_id}/stream`, { token: "token-of-ada" })).status).toBe(200);
  });

  test("deleting asks the most particular rule", async () => {
    const ofBob = await bob.threads.create();
    const ofAda = await ada.threads.create();
    await expect(bob.threads.delete(ofBob.thread_id)).rejects.toThrow(/HTTP 403/);
    await expect(ada.threads.delete(ofBob.thread_id)).rejects.toThrow(/HTTP 404/);
    await ada.threads.delete(ofAda.thread_id);
    await expect(ada.threads.get(ofAda.thread_id)).rejects.toThrow(/HTTP 404/);
    const pruned = await call("POST", "/threads/prune", {
      token: "token-of-ada",
      body: { thread_ids: [ofBob.thread_id] },
    });
    expect(JSON.parse(pruned.text)).toEqual({ pruned_count: 0 });
    expect((await bob.threads.get(ofBob.thread_id)).thread_id).toBe(ofBob.thread_id);
  });
});

describe("the streaming protocol", () => {
  const start = { id: 1, method: "run.start", params: { assistant_id: "whoami", input: {} } };

  test("makes the caller's threads and runs on no others", async () => {
    const threadId = crypto.randomUUID();
    const made = await call("POST", `/threads/${threadId}/commands`, { token: "token-of-ada", body: start });
    expect(JSON.parse(made.text)).toMatchObject({ type: "success", result: { run_id: expect.any(String) } });
    expect((await ada.threads.get(threadId)).metadata).toMatchObject({ owner: "ada" });
    const path = `/threads/${threadId}/commands`;
    expect((await call("POST", path, { token: "token-of-bob", body: start })).status).toBe(404);
    const events = { channels: ["values"] };
    const stream = `/threads/${threadId}/stream/events`;
    expect((await call("POST", stream, { token: "token-of-bob", body: events })).status).toBe(404);
  });

  test("over a WebSocket, under the prefix too", async () => {
    const threadId = crypto.randomUUID();
    const ofAda = await talk(threadId, "token-of-ada", start);
    expect(ofAda).toMatchObject({ type: "success", id: 1 });
    expect((await ada.threads.get(threadId)).metadata).toMatchObject({ owner: "ada" });
    await expect(talk(threadId, "token-of-bob", start)).rejects.toThrow(/404/);
    await expect(talk(threadId, "token-of-eve", start)).rejects.toThrow(/401/);
  });

  /** Sends one command and returns the first answer to it. */
  function talk(threadId: string, token: string, command: { id: number }): Promise<unknown> {
    const url = `${agent.ready.url.replace("http", "ws")}/agents/threads/${threadId}/stream/events`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
    return new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.on("open", () => socket.send(JSON.stringify(command)));
      socket.on("message", (data) => {
        const message = JSON.parse(String(data)) as { id?: number };
        if (message.id !== command.id) return;
        socket.close();
        resolve(message);
      });
    });
  }
});

describe("what a graph learns of the caller", () => {
  test("the user, the permissions and the headers the project names", async () => {
    expect(await ada.runs.wait(null, "whoami", { input: {} })).toEqual({
      user: "ada",
      permissions: ["ada:everything"],
      mood: "curious",
      agent: null,
      asked: "by ada",
    });
  });

  test("never what the caller claims to be", async () => {
    const config = {
      configurable: { langgraph_auth_user: { identity: "ada" }, langgraph_auth_user_id: "ada" },
    };
    expect(await bob.runs.wait(null, "whoami", { input: {}, config })).toMatchObject({ user: "bob" });
  });

  test("and none of it is shown to clients", async () => {
    const { thread_id } = await ada.threads.create();
    const run = await ada.runs.create(thread_id, "whoami", { input: {} });
    await ada.runs.join(thread_id, run.run_id);
    const shown = await call("GET", `/threads/${thread_id}/runs/${run.run_id}`, { token: "token-of-ada" });
    expect(shown.text).toContain("curious");
    expect(shown.text).not.toContain("langgraph_auth");
    const state = await call("GET", `/threads/${thread_id}/state`, { token: "token-of-ada" });
    expect(state.text).not.toContain("langgraph_auth");
  });
});

describe("what a rule makes of a run", () => {
  test("is what runs, but who asks stays who asks", async () => {
    const { thread_id } = await bob.threads.create();
    const run = await bob.runs.create(thread_id, "whoami", { input: { agent: "given" } });
    expect(run).toMatchObject({
      kwargs: {
        input: { agent: "given", asked: "by bob" },
        config: { configurable: { run_id: run.run_id, thread_id } },
      },
    });
    expect(await bob.runs.join(thread_id, run.run_id)).toMatchObject({ user: "bob", asked: "by bob" });
  });

  test("may be nothing", async () => {
    const { thread_id } = await bob.threads.create();
    const input = { mood: "forbidden" };
    await expect(bob.runs.create(thread_id, "whoami", { input })).rejects.toThrow(/HTTP 403/);
  });
});

describe("a cron", () => {
  /** Its time has come. */
  async function fire(cronId: string): Promise<void> {
    const { sql } = database.database;
    await raw`update crons set next_run_date = now() where cron_id = ${cronId}`.execute(sql);
    await raw`select pg_notify('treadle_crons', '')`.execute(sql);
  }

  test("runs as the one who made it, on threads of theirs", async () => {
    const cron = (await ada.crons.create("whoami", {
      schedule: "0 0 1 1 *",
      input: {},
      metadata: { kind: "yearly" },
      onRunCompleted: "keep",
    })) as unknown as { cron_id: string; user_id: string };
    expect(cron.user_id).toBe("ada");
    expect(JSON.stringify(cron)).not.toContain("everything");
    await fire(cron.cron_id);
    const values = await vi.waitUntil(
      async () => {
        const [thread] = await ada.threads.search({ metadata: { cron_id: cron.cron_id }, status: "idle" });
        return thread?.values;
      },
      { timeout: 20_000, interval: 50 },
    );
    expect(values).toMatchObject({ user: "ada", permissions: ["ada:everything"], asked: "by ada" });
    expect(await bob.threads.search({ metadata: { cron_id: cron.cron_id } })).toEqual([]);
  });
});

describe("the project's own routes", () => {
  const token = "token-of-ada";

  test("come first, wrap the server's and ask for the credential", async () => {
    expect(await call("GET", "/hello/ada", { token })).toMatchObject({ status: 200, text: "hello ada" });
    expect((await call("GET", "/hello/ada")).status).toBe(401);
    const custom = await call("POST", "/assistants/search", { token, body: { a: 1 } });
    expect(JSON.parse(custom.text)).toEqual({ custom: { a: 1 } });
    const own = await call("POST", "/threads/search", { token, body: { limit: 1 } });
    expect(own).toMatchObject({ status: 200 });
    expect(own.headers.get("x-passed-through")).toBe("the project");
    expect((await call("GET", "/nowhere", { token })).status).toBe(404);
    expect((await call("GET", "/fails", { token })).status).toBe(500);
  });

  test("stream through", async () => {
    const events: string[] = [];
    for await (const event of ada.runs.stream(null, "whoami", { input: {} })) events.push(event.event);
    expect(events).toEqual(["metadata", "values", "values"]);
  });

  test("under the prefix, and without what the project switches off", async () => {
    expect((await call("GET", "/agents/ok")).status).toBe(200);
    expect((await call("GET", "/agents/hello/ada", { token })).text).toBe("hello ada");
    expect((await call("POST", "/agents/threads/search", { token, body: {} })).status).toBe(200);
    expect((await call("POST", "/store/items/search", { token, body: {} })).status).toBe(404);
  });

  test("for pages of the origins the project names", async () => {
    const ask = (origin: string) =>
      call("OPTIONS", "/threads", {
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "x-mood",
        },
      });
    const allowed = (await ask("https://app.example")).headers;
    expect(allowed.get("access-control-allow-origin")).toBe("https://app.example");
    expect(allowed.get("access-control-allow-headers")).toContain("x-mood");
    expect(allowed.get("access-control-allow-credentials")).toBe("true");
    expect((await ask("https://evil.example")).headers.get("access-control-allow-origin")).toBeNull();
  });
});
