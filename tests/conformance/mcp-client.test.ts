import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { protocolGraphs } from "../support/protocol-graphs.ts";

/** The protocol's own client, unmodified. */
let database: TestDatabase;
let server: TestAgentServer;
beforeAll(async () => {
  database = await createTestDatabase();
  server = await startTestAgentServer(database.url, {
    graphs: new GraphRegistry(await protocolGraphs()),
    publicUrl: () => server.url,
  });
});
afterAll(async () => {
  await server?.stop();
  await database?.drop();
});

async function connect(): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`));
  // Without a session its `sessionId` is undefined, which the interface it implements does not allow for.
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return client;
}

test("connects, and is told what there is", async () => {
  const client = await connect();
  expect(client.getServerVersion()).toMatchObject({ name: "treadle" });
  expect(client.getServerCapabilities()).toEqual({ tools: { listChanged: false } });
  expect(client.getInstructions()).toContain("Every tool runs one assistant");
  expect(await client.ping()).toEqual({});
});

test("lists the assistants as tools and calls one", async () => {
  const client = await connect();
  const { tools } = await client.listTools();
  const echo = tools.find(({ name }) => name === "echo");
  expect(echo?.inputSchema).toMatchObject({ type: "object" });
  const result = await client.callTool({
    name: "echo",
    arguments: { messages: [{ role: "user", content: "hello" }] },
  });
  expect(result.isError).toBe(false);
  expect(result.structuredContent).toMatchObject({ messages: [{ content: "hello" }, { type: "ai" }] });
});

test("a tool that is not there is the caller's error", async () => {
  const client = await connect();
  await expect(client.callTool({ name: "nobody", arguments: {} })).rejects.toThrow(/-32602.*Unknown tool/);
});

test("what the server does not have is refused by name", async () => {
  const client = await connect();
  await expect(client.listTools({ cursor: "elsewhere" })).rejects.toThrow(/-32602/);
  // The client asks only what the server declared, unless it is made to.
  await expect(client.request({ method: "prompts/list" }, z.unknown())).rejects.toThrow(/Method not found/);
});
