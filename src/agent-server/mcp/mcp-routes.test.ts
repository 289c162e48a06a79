import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createTestApp, type TestApp } from "../../../tests/support/app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await createTestApp();
});
afterAll(() => app?.stop());

const accept = "application/json, text/event-stream";
type Rpc = {
  jsonrpc: string;
  id: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
};
type Tool = { name: string; title: string; description: string; inputSchema: Record<string, unknown> };
type ToolAnswer = { content: { text: string }[]; structuredContent?: Values; isError: boolean };
type Values = { messages: { type: string; content: string }[] };

const post = <Body = Rpc>(body: unknown, headers: Record<string, string> = {}) =>
  app.call<Body>("POST", "/mcp", { body, headers: { accept, ...headers } });

async function ask(method: string, params?: Record<string, unknown>): Promise<Rpc> {
  const { status, body } = await post({ jsonrpc: "2.0", id: 1, method, params });
  expect(status).toBe(200);
  expect(body).toMatchObject({ jsonrpc: "2.0", id: 1 });
  return body;
}

async function callTool(name: string, input: unknown): Promise<ToolAnswer> {
  const { result } = await ask("tools/call", { name, arguments: input });
  return result as unknown as ToolAnswer;
}

const say = (content: unknown) => ({ messages: [{ role: "user", content }] });
const threadCount = async () => (await app.call<number>("POST", "/threads/count", { body: {} })).body;

describe("200", () => {
  test("initialize agrees on a version the client knows, or offers the newest", async () => {
    const known = await ask("initialize", {
      protocolVersion: "2025-03-26",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
    expect(known.result).toMatchObject({
      protocolVersion: "2025-03-26",
      capabilities: { tools: {} },
      serverInfo: { name: "treadle" },
    });
    const unknown = await ask("initialize", { protocolVersion: "1999-01-01", capabilities: {} });
    expect(unknown.result?.protocolVersion).toBe("2025-11-25");
  });

  test("ping", async () => {
    expect((await ask("ping")).result).toEqual({});
  });

  test("the path with a slash is the same", async () => {
    const body = { jsonrpc: "2.0", id: "p", method: "ping" };
    expect((await app.call("POST", "/mcp/", { body, headers: { accept } })).status).toBe(200);
  });

  test("tools/list has every assistant with its graph's input schema", async () => {
    const made = { graph_id: "approval", name: "My gate", description: "Asks first." };
    await app.call("POST", "/assistants", { body: made });
    const { result } = await ask("tools/list");
    const tools = result?.tools as Tool[];
    expect(tools.map((tool) => tool.name)).toEqual(
      expect.arrayContaining(["agent", "echo", "approval", "My_gate"]),
    );
    const gate = tools.find((tool) => tool.name === "My_gate");
    expect(gate).toMatchObject({ title: "My gate", description: "Asks first." });
    expect(gate?.inputSchema).toMatchObject({
      type: "object",
      properties: { messages: { type: "array" }, action: { type: "string" } },
    });
    expect(tools.find((tool) => tool.name === "echo")?.description).toBe("Repeats the message it gets.");
  });

  test("tools/call runs the assistant, answers its values and leaves no thread behind", async () => {
    const before = await threadCount();
    const answer = await callTool("echo", say("hello"));
    expect(answer.isError).toBe(false);
    expect(answer.structuredContent?.messages.map((each) => [each.type, each.content])).toEqual([
      ["human", "hello"],
      ["ai", "hello"],
    ]);
    expect(JSON.parse(answer.content[0]!.text)).toEqual(answer.structuredContent);
    expect(await threadCount()).toBe(before);
  });

  test("a run that fails is a result with isError, not a broken protocol", async () => {
    const answer = await callTool("echo", { messages: [{ role: "nobody", content: { not: "a message" } }] });
    expect(answer.isError).toBe(true);
    expect(answer.content[0]?.text).not.toBe("");
    expect(answer.structuredContent).toBeUndefined();
  });

  test("a run that stops to ask says what it asked", async () => {
    const before = await threadCount();
    const answer = await callTool("approval", say("delete everything"));
    expect(answer.isError).toBe(true);
    expect(answer.content[0]?.text).toContain("May I do this: delete everything?");
    expect(await threadCount()).toBe(before);
  });

  test("when the client leaves, the run is stopped and its thread goes", async () => {
    const before = await threadCount();
    const leaving = new AbortController();
    const params = { name: "agent", arguments: say("Tell me about the notes") };
    const answer = app.fetch("/mcp", {
      method: "POST",
      headers: { accept, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      signal: leaving.signal,
    });
    await vi.waitFor(async () => expect(await threadCount()).toBe(before + 1), {
      timeout: 5_000,
      interval: 1,
    });
    leaving.abort();
    const { error } = (await (await answer).json()) as Rpc;
    expect(error?.message).toContain("stopped");
    expect(await threadCount()).toBe(before);
  });

  test("a batch is answered request by request, notifications without an answer", async () => {
    const { status, body } = await post<Rpc[]>([
      { jsonrpc: "2.0", id: 1, method: "ping" },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: "two", method: "nope" },
      { id: 3, method: "ping" },
    ]);
    expect(status).toBe(200);
    expect(body.map((each) => [each.id, each.error?.code])).toEqual([
      [1, undefined],
      ["two", -32601],
      [3, -32600],
    ]);
  });

  test.each([
    ["an unknown method", "resources/list", {}, -32601],
    ["an unknown tool", "tools/call", { name: "nope" }, -32602],
    ["a call without a name", "tools/call", {}, -32602],
    ["arguments that are no object", "tools/call", { name: "echo", arguments: [1] }, -32602],
    ["a cursor nobody gave out", "tools/list", { cursor: "?" }, -32602],
    ["initialize without a version", "initialize", {}, -32602],
  ])("%s is a JSON-RPC error", async (_, method, params, code) => {
    const { error } = await ask(method, params);
    expect(error?.code).toBe(code);
    expect(error?.message).not.toBe("");
  });
});

describe("202", () => {
  test.each([
    ["a notification", { jsonrpc: "2.0", method: "notifications/initialized" }],
    ["an answer to nothing we asked", { jsonrpc: "2.0", id: 1, result: {} }],
    ["a batch of notifications", [{ jsonrpc: "2.0", method: "notifications/cancelled", params: {} }]],
  ])("%s", async (_, message) => {
    const { status, body } = await post(message);
    expect([status, body]).toEqual([202, undefined]);
  });
});

describe("400", () => {
  test.each([["application/json"], ["text/event-stream"], ["*/*"]])("Accept: %s", async (only) => {
    const answer = await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { accept: only });
    expect(answer.status).toBe(400);
    expect(answer.body.error?.message).toContain("text/event-stream");
  });

  test("a protocol version we do not speak", async () => {
    const answer = await post(
      { jsonrpc: "2.0", id: 1, method: "ping" },
      { "mcp-protocol-version": "1999-01-01" },
    );
    expect(answer.status).toBe(400);
  });

  test.each([
    ["text that is no JSON", "{", -32700],
    ["nothing", "", -32700],
    ["an empty batch", "[]", -32600],
    ["a number", "1", -32600],
    ["another JSON-RPC", '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ["positional parameters", '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600],
    ["an id that is none", '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
  ])("%s", async (_, text, code) => {
    const answer = await app.call<Rpc>("POST", "/mcp", { text, headers: { accept } });
    expect(answer.status).toBe(400);
    expect(answer.body.error?.code).toBe(code);
  });
});

test("404: there is no session to delete", async () => {
  expect((await app.call("DELETE", "/mcp")).status).toBe(404);
});

test("405: there is no stream to open", async () => {
  const answer = await app.call("GET", "/mcp", { headers: { accept: "text/event-stream" } });
  expect(answer.status).toBe(405);
  expect(answer.headers.get("allow")).toContain("POST");
});
