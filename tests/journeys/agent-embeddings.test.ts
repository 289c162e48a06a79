import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningAgent, startAgent } from "../support/agent-command.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const project = fileURLToPath(new URL("../fixtures/projects/remembering/langgraph.json", import.meta.url));

let provider: Server;
let asked: { authorization: string | undefined; body: { model: string; input: string[] } }[];
let database: TestDatabase;
let agent: RunningAgent;
let client: Client;

/** Tells drinks from animals from the rest. */
const meaningOf = (text: string) =>
  [/tea|coffee|thirsty/, /cat|dog|pet/].map((words) => Number(words.test(text)));

beforeAll(async () => {
  asked = [];
  provider = createServer(async (incoming, outgoing) => {
    let text = "";
    for await (const chunk of incoming) text += String(chunk);
    const body = JSON.parse(text) as (typeof asked)[number]["body"];
    asked.push({ authorization: incoming.headers.authorization, body });
    const data = body.input.map((input, index) => ({ index, embedding: [...meaningOf(input), 0.1] }));
    outgoing.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ data }));
  });
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
  database = await createTestDatabase();
  agent = await startAgent(project, {
    DATABASE_URL: database.url,
    OPENAI_API_KEY: "key-of-the-provider",
    OPENAI_BASE_URL: url,
    TREADLE_LOG_LEVEL: "info",
  });
  client = new Client({
    apiUrl: agent.ready.url,
    apiKey: null,
    callerOptions: { maxRetries: 0 },
    defaultHeaders: { "x-mood": "thirsty", "x-other": "unseen" },
  });
});

afterAll(async () => {
  await agent?.process.stop();
  await database?.drop();
  await new Promise((resolve) => provider.close(resolve));
});

test("a model named in the project file finds items by their meaning", async () => {
  await client.store.putItem(["notes"], "a", { text: "green tea, no sugar" });
  await client.store.putItem(["notes"], "b", { text: "the cat wants out" });
  const { items } = await client.store.searchItems(["notes"], { query: "I am thirsty" });
  expect(items.map(({ key }) => key)).toEqual(["a", "b"]);
  expect(asked.map(({ body }) => [body.model, body.input])).toEqual([
    ["text-embedding-3-small", ["green tea, no sugar"]],
    ["text-embedding-3-small", ["the cat wants out"]],
    ["text-embedding-3-small", ["I am thirsty"]],
  ]);
  expect(new Set(asked.map(({ authorization }) => authorization))).toEqual(
    new Set(["Bearer key-of-the-provider"]),
  );
});

test("the log tells the headers the project names, and no others", async () => {
  await client.store.listNamespaces({});
  const line = await agent.process.waitForLine(/"route":"\/store\/namespaces"/);
  expect(JSON.parse(line)).toMatchObject({ msg: "request", headers: { "x-mood": "thirsty" } });
  expect(agent.process.output()).not.toContain("unseen");
  expect(agent.process.output()).not.toContain("key-of-the-provider");
});
