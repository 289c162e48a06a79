import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { keepLogs } from "../support/logged-lines.ts";

/** Four such events are more than the connection itself can hold. */
const large = "x".repeat(5_000_000);
const log = keepLogs();
let test: TestDatabase;
let server: TestAgentServer;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
  server = await startTestAgentServer(test.url, { readerBytes: 8_000_000, logger: log.logger });
});
afterAll(async () => {
  await server?.stop();
  await test?.drop();
});

it("a client that did not read for too long is cut, comes back by itself and misses nothing", {
  timeout: 90_000,
}, async () => {
  const joined: string[] = [];
  const client = new Client({
    apiUrl: server.url,
    onRequest(url, init) {
      if (init.method === undefined || init.method === "GET") joined.push(url.pathname);
      return init;
    },
  });
  const { thread_id } = await client.threads.create();
  const ids: number[] = [];
  const lengths: number[] = [];
  const left = new AbortController();
  const input = { steps: [large], pause: 0 };
  const stream = client.runs.stream(thread_id, "slow", { input, streamResumable: true });
  for await (const event of stream) {
    if (event.event !== "values") continue;
    ids.push(Number((event as { id?: string }).id));
    lengths.push((event.data as { steps: string[] }).steps.length);
    if (lengths.length > 1) continue;
    await crowd(left.signal);
    await waitUntil(() => log.text().includes("a reader of a stream was cut off"), {
      what: "the cut",
      timeoutMs: 30_000,
    });
  }
  left.abort();
  expect(joined).toContainEqual(expect.stringMatching(/\/runs\/[^/]+\/stream$/));
  // What was asked for, and after each of the three steps.
  expect(lengths).toEqual([1, 2, 3, 4]);
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
});

/** Others who ask for as much and read nothing. */
async function crowd(signal: AbortSignal): Promise<void> {
  for (let index = 0; index < 3; index += 1) {
    const { thread_id } = await server.client.threads.create();
    const response = await fetch(`${server.url}/threads/${thread_id}/runs/stream`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ assistant_id: "slow", input: { steps: [large], pause: 0 } }),
      signal,
    });
    expect(response.status).toBe(200);
  }
}
