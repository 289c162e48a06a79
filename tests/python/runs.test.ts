import type { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type PythonAgent, said, startPythonAgent } from "./python-agent.ts";

let database: TestDatabase;
let agent: PythonAgent;
let client: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  agent = await startPythonAgent(database);
  client = agent.client;
});
afterAll(async () => {
  expect(await agent?.process.stop()).toMatchObject({ code: 0 });
  await database?.drop();
});

const modes = [
  "values",
  "updates",
  "messages",
  "messages-tuple",
  "custom",
  "tasks",
  "checkpoints",
  "debug",
] as const;

type Event = { event: string; data: unknown };

async function streamed(graphId: string, input: object, streamMode: (typeof modes)[number]) {
  const events: Event[] = [];
  const options = { input, streamMode: [streamMode] } as {
    input: Record<string, unknown>;
    streamMode: ["values"];
  };
  for await (const { event, data } of client.runs.stream(null, graphId, options))
    events.push({ event, data });
  return events;
}

/** Without what is different each time. */
function withoutIds(value: unknown): unknown {
  const text = JSON.stringify(value)
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "id")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, "time");
  return JSON.parse(text);
}

/** What the two libraries themselves have or leave out in tasks and debug events. */
const libraryFields = new Set(["interrupts", "error", "ls_integration", "recursion_limit", "tags", "path"]);

/** The names and kinds of everything in it. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return value === null ? null : typeof value;
  const entries = Object.entries(value)
    .filter(([key]) => !libraryFields.has(key) && !(key === "metadata" && "configurable" in value))
    .map(([key, item]) => [key, shapeOf(item)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Without a message's metadata, which is the library's own. */
function told({ event, data }: Event): unknown {
  return event === "messages" ? (data as unknown[])[0] : data;
}

describe("a project in both languages", () => {
  it("is served, but for what does not load, which says where", () => {
    expect(agent.ready.graphs).toContain("echo");
    expect(agent.ready.graphs).toContain("twin");
    expect(Object.keys(agent.ready.broken)).toEqual(["unloadable"]);
    expect(agent.ready.broken.unloadable).toMatch(
      /ModuleNotFoundError: No module named 'a_package_nobody_has'.*unloadable\.py, line 1/,
    );
  });

  it("tells the versions of both libraries", async () => {
    const info = (await (await fetch(`${agent.ready.url}/info`)).json()) as Record<string, string>;
    expect(info.langgraph_py_version).toMatch(/^\d+\.\d+/);
    expect(info.langgraph_js_version).toMatch(/^\d+\.\d+/);
  });

  it("lets Python, TypeScript and Python take turns on one thread", async () => {
    const { thread_id } = await client.threads.create();
    for (const graphId of ["echo", "twin", "module", "twin", "echo"])
      await client.runs.wait(thread_id, graphId, { input: said(graphId) });
    const { values } = await client.threads.getState<{ messages: { content: string }[]; count: number }>(
      thread_id,
    );
    expect(values.messages.map(({ content }) => content)).toEqual(
      ["echo", "twin", "module", "twin", "echo"].flatMap((text) => [text, `You said: ${text}`]),
    );
    expect(values.count).toBe(5);
    const history = await client.threads.getHistory(thread_id, { limit: 100 });
    const steps = history.map(({ metadata }) => metadata?.step as number);
    expect(steps).toEqual([...steps].sort((a, b) => b - a));
    const ids = history.map(({ checkpoint }) => checkpoint.checkpoint_id!);
    expect(ids).toEqual([...ids].sort().reverse());
    expect(history.slice(0, -1).map(({ parent_checkpoint }) => parent_checkpoint?.checkpoint_id)).toEqual(
      ids.slice(1),
    );
    expect(new Set(history.map(({ metadata }) => metadata?.graph_id))).toEqual(
      new Set(["echo", "twin", "module"]),
    );
  });
});

describe("what only Python has", () => {
  it("outlives a run in TypeScript, which reads it as JSON", async () => {
    const { thread_id } = await client.threads.create();
    const turn = (graphId: string) => client.runs.wait(thread_id, graphId, { input: { found: [] } });
    await turn("profile");
    expect(await turn("profile-reader")).toEqual({
      profile: { name: "Ada", born: "1815-12-10", tags: ["x"] },
      found: ["Ada", "1815-12-10"],
      turns: 1,
    });
    expect(await turn("profile")).toMatchObject({ found: ["Profile", "date", "set", "Ada"], turns: 1 });
  });
});

describe("the checkpointer", () => {
  it("passes the library's own suite, over the socket to the server and its database", async () => {
    const { passed, failed } = (await client.runs.wait(null, "conformance", { input: {} })) as {
      passed: Record<string, number>;
      failed: Record<string, string[]>;
    };
    expect(failed).toEqual({});
    expect(Object.keys(passed).sort()).toEqual(["delete_thread", "get_tuple", "list", "put", "put_writes"]);
    for (const count of Object.values(passed)) expect(count).toBeGreaterThan(0);
  });
});

describe("what is streamed", () => {
  it.each(modes)("is the same from both languages: %s", async (mode) => {
    const input = { messages: [{ role: "user", content: "hi", id: "first" }] };
    const [python, typescript] = [await streamed("echo", input, mode), await streamed("twin", input, mode)];
    expect(python.map(({ event }) => event)).toEqual(typescript.map(({ event }) => event));
    if (mode === "values" || mode === "updates")
      expect(withoutIds(python.slice(1))).toEqual(withoutIds(typescript.slice(1)));
    else expect(shapeOf(python.map(told))).toEqual(shapeOf(typescript.map(told)));
  });

  it("is a model's words one by one, and what a node says besides", async () => {
    const tuples = await streamed("tokens", said("go"), "messages-tuple");
    const words = tuples.slice(1).map(({ data }) => (data as [{ content: string }])[0].content);
    expect(words.join("")).toBe("one two three");
    const partial = (await streamed("tokens", said("go"), "messages")).filter(
      ({ event }) => event === "messages/partial",
    );
    expect((partial.at(-1)!.data as [{ content: string }])[0].content).toBe("one two three");
    expect((await streamed("tokens", said("go"), "custom"))[1]!.data).toEqual({ progress: 0.5 });
  });

  it("holds the events of callbacks", async () => {
    const names: string[] = [];
    for await (const { data } of client.runs.stream(null, "tokens", {
      input: said("go"),
      streamMode: "events",
    }))
      names.push((data as { event: string }).event);
    expect(names).toContain("on_chat_model_stream");
  });
});

describe("interrupts", () => {
  it.each([false, 0, "", "yes", { nested: [1] }])("take the answer %j", async (answer) => {
    const { thread_id } = await client.threads.create();
    const asked = (await client.runs.wait(thread_id, "approval", { input: { subject: "go" } })) as {
      __interrupt__: { value: unknown }[];
    };
    expect(asked.__interrupt__[0]!.value).toEqual({ question: "May I go?" });
    expect(await client.threads.get(thread_id)).toMatchObject({ status: "interrupted" });
    const done = await client.runs.wait(thread_id, "approval", { command: { resume: answer } });
    expect(done).toMatchObject({ answer });
    expect(await client.threads.get(thread_id)).toMatchObject({ status: "idle" });
  });

  it("in a subgraph have its state and namespace", async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "nested", { input: { subject: "stay" } });
    const state = await client.threads.getState(thread_id, undefined, { subgraphs: true });
    expect(state.next).toEqual(["inner"]);
    const inner = state.tasks[0]!.state!;
    expect(inner.next).toEqual(["ask"]);
    expect(inner.checkpoint?.checkpoint_ns).toMatch(/^inner:/);
    const own = await client.threads.getState(thread_id, {
      checkpoint_ns: inner.checkpoint!.checkpoint_ns,
    } as never);
    expect(own.values).toMatchObject({ subject: "stay" });
    const done = await client.runs.wait(thread_id, "nested", { command: { resume: "ok" } });
    expect(done).toMatchObject({ answer: "ok" });
  });
});

describe("the state of a thread", () => {
  it("is changed as a node, and forked from its history", async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "echo", { input: said("one") });
    await client.runs.wait(thread_id, "echo", { input: said("two") });
    const history = await client.threads.getHistory<{ messages: { content: string }[] }>(thread_id);
    const early = history.find(({ values }) => values.messages?.length === 2)!;
    const forked = (await client.runs.wait(thread_id, "echo", {
      input: said("other"),
      checkpointId: early.checkpoint.checkpoint_id!,
    })) as { messages: { content: string }[] };
    expect(forked.messages.map(({ content }) => content)).toEqual([
      "one",
      "You said: one",
      "other",
      "You said: other",
    ]);
    await client.threads.updateState(thread_id, { values: said("added"), asNode: "echo" });
    const state = await client.threads.getState<{ messages: { content: string }[] }>(thread_id);
    expect(state.values.messages.at(-1)!.content).toBe("added");
    expect(state.metadata).toMatchObject({ source: "update", graph_id: "echo" });
    expect(state.next).toEqual([]);
    await expect(
      client.threads.updateState(thread_id, { values: said("x"), asNode: "nobody" }),
    ).rejects.toThrow(/nobody/);
  });

  it("is told at every checkpoint as the graph streamed it", async () => {
    const { thread_id } = await client.threads.create();
    const streamed: unknown[] = [];
    for (const word of ["one", "two", "three"]) {
      const long = `${word} ${"lorem ipsum ".repeat(100)}`;
      const options = { input: said(long), streamMode: "values" } as const;
      for await (const { event, data } of client.runs.stream(thread_id, "echo", options))
        if (event === "values") streamed.push(data);
    }
    const history = await client.threads.getHistory(thread_id, { limit: 100 });
    const loops = history.filter(({ metadata }) => metadata?.source === "loop");
    expect(loops.map(({ values }) => values).reverse()).toEqual(streamed);
    expect((await client.threads.getState(thread_id)).values).toEqual(streamed.at(-1));
    expect((await client.threads.get(thread_id)).values).toEqual(streamed.at(-1));
  });

  it.each(["sync", "async", "exit"] as const)(
    "has as many checkpoints as TypeScript: %s",
    async (durability) => {
      const counts = await Promise.all(
        ["echo", "twin"].map(async (graphId) => {
          const { thread_id } = await client.threads.create();
          await client.runs.wait(thread_id, graphId, { input: said("x"), durability });
          return (await client.threads.getHistory(thread_id)).length;
        }),
      );
      expect(counts[0]).toBe(counts[1]);
    },
  );

  it("is copied step by step, as in TypeScript", async () => {
    const copies = await Promise.all(
      ["echo", "twin"].map(async (graphId) => {
        const { thread_id } = await client.threads.create({
          graphId,
          supersteps: [
            { updates: [{ values: said("one"), asNode: "__input__" }] },
            { updates: [{ values: said("one"), asNode: "__start__" }] },
            { updates: [{ values: { messages: [{ role: "ai", content: "two" }] }, asNode: "echo" }] },
          ],
        });
        const { values } = await client.threads.getState<{ messages: { content: string }[] }>(thread_id);
        return values.messages.map(({ content }) => content);
      }),
    );
    expect(copies).toEqual([
      ["one", "two"],
      ["one", "two"],
    ]);
  });
});

describe("a graph", () => {
  it("has a drawing, schemas and subgraphs", async () => {
    const assistants = await client.assistants.search({ limit: 100 });
    const idOf = (graphId: string) => assistants.find((each) => each.graph_id === graphId)!.assistant_id;
    const drawn = await client.assistants.getGraph(idOf("nested"), { xray: true });
    expect(drawn.nodes.map(({ id }) => id)).toContain("inner:ask");
    const { input_schema, state_schema } = await client.assistants.getSchemas(idOf("echo"));
    expect(Object.keys(input_schema!.properties!)).toEqual(expect.arrayContaining(["messages", "count"]));
    expect(Object.keys(state_schema!.properties!)).toEqual(expect.arrayContaining(["messages", "count"]));
    expect(Object.keys(await client.assistants.getSubgraphs(idOf("nested")))).toEqual(["inner"]);
  });

  it("is a tool of MCP with the schema of its input", async () => {
    const response = await fetch(`${agent.ready.url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
    });
    const text = await response.text();
    const { result } = JSON.parse(text) as {
      result: { tools: { name: string; inputSchema: { properties: object } }[] };
    };
    const tool = result.tools.find(({ name }) => name === "approval")!;
    expect(Object.keys(tool.inputSchema.properties)).toContain("subject");
  });

  it("that is made for each use is made from its config and the server's runtime", async () => {
    await client.store.putItem(["made"], "word", { said: "kept" });
    const { thread_id } = await client.threads.create();
    const said = await client.runs.wait(thread_id, "made", {
      input: {},
      config: { configurable: { word: "hello" } },
    });
    const access = "threads.create_run, runs: True";
    expect(said).toEqual({ said: "hello", access, in_store: "kept" });
    // For a look at it the same factory makes another graph.
    const [assistant] = await client.assistants.search({ graphId: "made" });
    const { nodes } = await client.assistants.getGraph(assistant!.assistant_id);
    expect(nodes.map(({ id }) => id)).toContain("seen_by_assistants_read");
  });

  it("has the long-term store, in nodes of both kinds", async () => {
    expect(await client.runs.wait(null, "memory", { input: {} })).toEqual({
      keys: ["a", "b"],
      value: { text: "tea" },
    });
    const found = await client.store.searchItems(["notes"]);
    expect(found.items.map(({ key }) => key).sort()).toEqual(["a", "b"]);
    const brief = async () => (await client.store.searchItems(["brief"], { refreshTtl: false })).items.length;
    await waitUntil(async () => (await brief()) === 0, { what: "items to expire", timeoutMs: 20_000 });
    expect((await client.store.searchItems(["notes"])).items).toHaveLength(2);
  });

  it("streams a run of its own server with a client without an address", async () => {
    const { events } = (await client.runs.wait(null, "caller", { input: {} })) as { events: string[] };
    expect(events).toEqual(["metadata", "values", "values"]);
  });

  it("that fails says so under the exception's own name", async () => {
    await expect(client.runs.wait(null, "trouble", { input: { kind: "raise" } })).rejects.toThrow(
      "ValueError: the node's own words",
    );
  });

  it("that keeps what cannot be kept is told which node and channel", async () => {
    await expect(client.runs.wait(null, "trouble", { input: { kind: "connection" } })).rejects.toThrow(
      /node 'trouble'.*value.*sqlite3\.Connection/,
    );
  });
});
