import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadProjectKit } from "../../src/agent-server/graphs/javascript/graph-kit.ts";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { runCommand } from "../support/components/run-command.ts";
import { createTempFolder, type TempFolder } from "../support/components/temp-folder.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));

/** How a project comes by its copy of the graph library. */
const copies: Record<string, { version: RegExp; install(project: string): Promise<unknown> }> = {
  "langgraph 0.4 with core 0.3": {
    version: /^0\.4\./,
    install: (project) =>
      runCommand(
        "npm",
        [
          ...["install", "@langchain/langgraph@0.4.10", "@langchain/core@0.3.80", "zod@3.25.76"],
          ...["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"],
        ],
        { cwd: project, timeoutMs: 200_000 },
      ),
  },
  "the server's own": {
    version: /^1\./,
    install: (project) => symlink(modules, join(project, "node_modules")),
  },
};

const files = {
  "package.json": JSON.stringify({ name: "conformance", private: true, type: "module" }),
  "langgraph.json": JSON.stringify({
    graphs: { echo: "./graphs.js:echo", ask: "./graphs.js:ask", nested: "./graphs.js:nested" },
  }),
  "graphs.js": `import { readFileSync } from "node:fs";
import { AIMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { Annotation, Command, END, interrupt, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";

const { version } = JSON.parse(readFileSync(new URL("./node_modules/@langchain/langgraph/package.json", import.meta.url), "utf8"));

const Echo = Annotation.Root({ ...MessagesAnnotation.spec, version: Annotation(), tenant: Annotation() });
export const echo = new StateGraph(Echo)
  .addNode("prepare", (_state, config) => ({ version, tenant: config.configurable.tenant }))
  .addNode("model", async ({ messages }, config) => {
    const model = new FakeListChatModel({ responses: ["echo " + messages.at(-1).content] });
    return { messages: [await model.invoke(messages)] };
  })
  .addEdge(START, "prepare")
  .addEdge("prepare", "model")
  .addEdge("model", END)
  .compile();

const Steps = Annotation.Root({ steps: Annotation({ reducer: (all, more) => [...all, ...more], default: () => [] }) });
const one = (name) => () => ({ steps: [name] });
export const ask = new StateGraph(Steps)
  .addNode("before", () => new Command({ goto: "question", update: { steps: ["before"] } }), { ends: ["question"] })
  .addNode("question", () => ({ steps: ["answer " + JSON.stringify(interrupt({ question: "go on?" }))] }))
  .addNode("spread", () => new Command({ goto: [new Send("each", { n: 1 }), new Send("each", { n: 2 })] }), { ends: ["each"] })
  .addNode("each", ({ n }) => ({ steps: ["sent " + n] }))
  .addEdge(START, "before")
  .addEdge("question", "spread")
  .compile();

const inner = new StateGraph(Steps)
  .addNode("sign", () => ({ steps: ["signed " + interrupt("who signs?")] }))
  .addEdge(START, "sign")
  .compile();
export const nested = new StateGraph(Steps)
  .addNode("pack", one("pack"))
  .addNode("signing", async (state, config) => ({ steps: (await inner.invoke({ steps: [] }, config)).steps }), { subgraphs: [inner] })
  .addEdge(START, "pack")
  .addEdge("pack", "signing")
  .compile();
`,
};

type Steps = { steps: string[] };

describe.each(Object.keys(copies))("a project with %s", (name) => {
  let folder: TempFolder;
  let database: TestDatabase;
  let agent: RunningAgent;
  let client: Client;

  beforeAll(async () => {
    database = await createTestDatabase();
    folder = await createTempFolder("graph-library");
    const project = join(folder.path, "project");
    await mkdir(project);
    for (const [path, text] of Object.entries(files)) await writeFile(join(project, path), text);
    await copies[name]!.install(project);
    agent = await startAgent(join(project, "langgraph.json"), { DATABASE_URL: database.url });
    client = new Client({ apiUrl: agent.ready.url, apiKey: null, callerOptions: { maxRetries: 0 } });
  }, 240_000);

  afterAll(async () => {
    await agent?.process.stop();
    await folder?.remove();
    await database?.drop();
  });

  const newThread = async () => (await client.threads.create()).thread_id;
  const nexts = async (threadId: string) =>
    (await client.threads.getHistory(threadId, { limit: 100 })).map(({ next }) => next.join()).reverse();

  it("is of a version whose steps are lightened", async () => {
    const { lightened } = await loadProjectKit(join(folder.path, "project"));
    expect(lightened).toEqual({ context: true, callbacks: true });
  });

  it("runs its graphs with that copy", async () => {
    expect(agent.ready).toMatchObject({ graphs: ["echo", "ask", "nested"], broken: {} });
    const threadId = await newThread();
    const values = await client.runs.wait(threadId, "echo", {
      input: { messages: [{ role: "user", content: "hello" }] },
      config: { configurable: { tenant: "acme" } },
    });
    expect(values).toMatchObject({
      version: expect.stringMatching(copies[name]!.version),
      tenant: "acme",
      messages: [
        { type: "human", content: "hello" },
        { type: "ai", content: "echo hello" },
      ],
    });
    expect(await nexts(threadId)).toEqual(["__start__", "prepare", "model", ""]);
    expect(await client.threads.getState(threadId)).toMatchObject({ values, next: [], tasks: [] });
    await client.runs.wait(threadId, "echo", { input: { messages: [{ role: "user", content: "again" }] } });
    const state = await client.threads.getState<{ messages: { content: string }[] }>(threadId);
    expect(state.values.messages.map(({ content }) => content)).toEqual([
      "hello",
      "echo hello",
      "again",
      "echo again",
    ]);
  });

  it("streams messages as they are made, with what runs are told of them", async () => {
    const chunks: string[] = [];
    const nodes = new Set<unknown>();
    for await (const { event, data } of client.runs.stream(await newThread(), "echo", {
      input: { messages: [{ role: "user", content: "in parts" }] },
      streamMode: "messages-tuple",
      metadata: { purpose: "conformance" },
    })) {
      if (event !== "messages") continue;
      const [message, metadata] = data as unknown as [{ content: string }, Record<string, unknown>];
      expect(metadata).toMatchObject({ purpose: "conformance", graph_id: "echo" });
      chunks.push(message.content);
      nodes.add(metadata.langgraph_node);
    }
    expect(chunks.length).toBeGreaterThan(3);
    expect(chunks.join("")).toBe("echo in parts");
    expect([...nodes]).toEqual(["model"]);
  });

  it.each<[string, unknown]>([
    ["a text", "yes"],
    ["a false one", false],
    ["an object", { go: [1, null] }],
  ])("stops at a question and goes on with the answer: %s", async (_, answer) => {
    const threadId = await newThread();
    const stopped = await client.runs.wait(threadId, "ask", { input: { steps: [] } });
    const question = { value: { question: "go on?" } };
    expect(stopped).toMatchObject({ steps: ["before"], __interrupt__: [question] });
    expect(await client.threads.get(threadId)).toMatchObject({ status: "interrupted" });
    expect(await client.threads.getState(threadId)).toMatchObject({
      next: ["question"],
      tasks: [{ name: "question", interrupts: [question] }],
    });
    const events: string[] = [];
    for await (const { event, data } of client.runs.stream(threadId, "ask", {
      command: { resume: answer },
      streamMode: "updates",
    })) {
      if (event === "updates") events.push(...Object.keys(data));
    }
    expect(events).toEqual(["question", "spread", "each", "each"]);
    const state = await client.threads.getState<Steps>(threadId);
    expect(state).toMatchObject({ next: [], tasks: [] });
    expect(state.values.steps.toSorted()).toEqual(
      [`answer ${JSON.stringify(answer)}`, "before", "sent 1", "sent 2"].toSorted(),
    );
    expect(await nexts(threadId)).toEqual(["__start__", "before", "question", "spread", "each,each", ""]);
  });

  it("stops within a graph in a graph, tells its state, and goes on there", async () => {
    const threadId = await newThread();
    await client.runs.wait(threadId, "nested", { input: { steps: [] } });
    const stopped = await client.threads.getState<Steps>(threadId, undefined, { subgraphs: true });
    expect(stopped).toMatchObject({ next: ["signing"], tasks: [{ interrupts: [{ value: "who signs?" }] }] });
    expect(stopped.tasks[0]?.state).toMatchObject({ next: ["sign"] });
    const values = await client.runs.wait(threadId, "nested", { command: { resume: "Ada" } });
    expect(values).toEqual({ steps: ["pack", "signed Ada"] });
  });

  it("changes the state at an older checkpoint and goes on from there, also after another graph", async () => {
    const threadId = await newThread();
    await client.runs.wait(threadId, "nested", { input: { steps: ["first"] } });
    await client.runs.wait(threadId, "echo", { input: { messages: [{ role: "user", content: "hi" }] } });
    expect(await nexts(threadId)).toEqual([
      "__start__",
      "pack",
      "signing",
      "__start__",
      "prepare",
      "model",
      "",
    ]);
    const history = await client.threads.getHistory(threadId, { limit: 100 });
    const packing = history.find(({ next }) => next[0] === "pack");
    const checkpointId = packing?.checkpoint.checkpoint_id as string;
    await client.threads.updateState(threadId, {
      values: { steps: ["by hand"] },
      asNode: "pack",
      checkpointId,
    });
    expect(await client.threads.getState(threadId)).toMatchObject({
      values: { steps: ["first", "by hand"] },
      next: ["signing"],
    });
    await client.runs.wait(threadId, "nested", { input: null });
    const values = await client.runs.wait(threadId, "nested", { command: { resume: "Bob" } });
    expect(values).toEqual({ steps: ["first", "by hand", "signed Bob"] });
  });
});
