import { randomUUID } from "node:crypto";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestApp, type TestApp } from "../support/app.ts";

let app: TestApp;
let client: Client;
beforeAll(async () => {
  app = await createTestApp();
  client = new Client({
    apiUrl: await app.listen(),
    apiKey: app.apiKey,
    callerOptions: { maxRetries: 0 },
  });
});
afterAll(() => app?.stop());

test("the default assistant is the one whose config is empty", async () => {
  const found = await client.assistants.search({ graphId: "agent" });
  await client.assistants.create({
    graphId: "agent",
    name: "configured",
    config: { configurable: { model_name: "offline" } },
  });
  const all = await client.assistants.search({ graphId: "agent" });
  expect(all).toHaveLength(2);
  const isDefault = (config: object | null | undefined) => !config || Object.keys(config).length === 0;
  expect(all.filter((each) => isDefault(each.config))).toEqual(found);
});

test("create, get, update, versions, setLatest, delete", async () => {
  const assistantId = randomUUID();
  const made = await client.assistants.create({
    graphId: "echo",
    assistantId,
    name: "Parrot",
    description: "Repeats.",
    metadata: { owner: "ada" },
    context: { tone: "shrill" },
    config: { recursion_limit: 5, configurable: { loud: true } },
  });
  expect(made).toMatchObject({ assistant_id: assistantId, version: 1, context: { tone: "shrill" } });
  expect(await client.assistants.get(assistantId)).toEqual(made);
  await expect(client.assistants.create({ graphId: "echo", assistantId })).rejects.toThrow(/409/);
  expect(await client.assistants.create({ graphId: "echo", assistantId, ifExists: "do_nothing" })).toEqual(
    made,
  );

  const updated = await client.assistants.update(assistantId, {
    graphId: "approval",
    name: "Owl",
    metadata: { wise: true },
    context: {},
  });
  expect(updated).toMatchObject({
    version: 2,
    graph_id: "approval",
    name: "Owl",
    metadata: { owner: "ada", wise: true },
    context: {},
  });
  const versions = await client.assistants.getVersions(assistantId);
  expect(versions.map((each) => each.version)).toEqual([2, 1]);
  expect(await client.assistants.getVersions(assistantId, { metadata: { wise: true } })).toHaveLength(1);

  const restored = await client.assistants.setLatest(assistantId, 1);
  expect(restored).toMatchObject({
    version: 1,
    graph_id: "echo",
    name: "Parrot",
    description: "Repeats.",
    context: { tone: "shrill" },
    metadata: { owner: "ada" },
  });

  await client.assistants.delete(assistantId, { deleteThreads: true });
  await expect(client.assistants.get(assistantId)).rejects.toThrow(/404/);
});

test("search with pages, count", async () => {
  const metadata = { group: randomUUID() };
  for (const name of ["one", "two", "three"]) {
    await client.assistants.create({ graphId: "echo", name, metadata });
  }
  const { assistants, next } = await client.assistants.search({
    metadata,
    limit: 2,
    sortBy: "name",
    sortOrder: "asc",
    includePagination: true,
  });
  expect(assistants.map((each) => each.name)).toEqual(["one", "three"]);
  expect(next).toBe("2");
  const rest = await client.assistants.search({
    metadata,
    offset: Number(next),
    sortBy: "name",
    sortOrder: "asc",
    select: ["name"],
  });
  expect(rest).toEqual([{ name: "two" }]);
  expect(await client.assistants.count({ metadata })).toBe(3);
  expect(await client.assistants.count({ metadata, name: "T", graphId: "echo" })).toBe(2);
});

test("graph, schemas and subgraphs", async () => {
  const graph = await client.assistants.getGraph("agent", { xray: 1 });
  expect(graph.nodes.map((node) => node.id)).toContain("agent");
  const schemas = await client.assistants.getSchemas("approval");
  expect(schemas.graph_id).toBe("approval");
  expect(schemas.state_schema?.properties).toHaveProperty("approved");
  const subgraphs = await client.assistants.getSubgraphs("agent", { recurse: true });
  const [namespace] = Object.keys(subgraphs);
  expect(namespace).toBeDefined();
  const one = await client.assistants.getSubgraphs("agent", { namespace: namespace!, recurse: false });
  expect(Object.keys(one)).toEqual([namespace]);
});

test("an assistant's configuration reaches its runs", async () => {
  const { assistant_id } = await client.assistants.create({
    graphId: "echo",
    config: { tags: ["bird"], configurable: { loud: true } },
    context: { tone: "shrill" },
  });
  const thread = await client.threads.create();
  const run = await client.runs.create(thread.thread_id, assistant_id, {
    input: { messages: [{ role: "user", content: "hello" }] },
    config: { configurable: { polly: 1 } },
  });
  await client.runs.join(thread.thread_id, run.run_id);
  const { kwargs } = (await client.runs.get(thread.thread_id, run.run_id)) as unknown as {
    kwargs: { config: { tags: string[]; configurable: object }; context: object };
  };
  expect(kwargs.config.tags).toEqual(["bird"]);
  expect(kwargs.config.configurable).toMatchObject({ loud: true, polly: 1, assistant_id });
  expect(kwargs.context).toEqual({ tone: "shrill" });
});
