import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { readEvents } from "../support/protocol-client.ts";
import { allChannels, checkOrder, isTerminal, type WireEvent } from "../support/protocol-events.ts";
import { protocolGraphs } from "../support/protocol-graphs.ts";
import { openSocket } from "../support/protocol-socket.ts";

let base: TestDatabase;
let servers: TestAgentServer[];

beforeAll(async () => {
  base = await createTestDatabase();
  const start = async () =>
    startTestAgentServer(base.url, { graphs: new GraphRegistry(await protocolGraphs()) });
  servers = [await start(), await start()];
});

afterAll(async () => {
  for (const server of servers ?? []) await server.stop();
  await base?.drop();
});

const input = { messages: [{ role: "user", content: "hello" }] };
const ended = (events: WireEvent[]) => events.some(isTerminal);

/** Listens over SSE; resolves once the server has taken the listener in. */
async function listening(
  server: TestAgentServer,
  threadId: string,
): Promise<{ events: Promise<WireEvent[]> }> {
  const { promise: open, resolve } = Promise.withResolvers<void>();
  const events = readEvents(server.url, threadId, (all) => {
    resolve();
    return ended(all);
  });
  await Promise.race([open, events]);
  return { events };
}

/** Makes the thread and runs on it as a client of the older API does, who knows nothing of the protocol. */
async function makeAndRun({ client }: TestAgentServer, threadId: string): Promise<void> {
  await client.threads.create({ threadId });
  await client.runs.wait(threadId, "echo", { input });
}

describe("a thread that is listened to before it exists", () => {
  it("speaks the protocol from its first run on, whoever makes it", async () => {
    const [server] = servers as [TestAgentServer];
    const threadId = randomUUID();
    const { events } = await listening(server, threadId);
    await makeAndRun(server, threadId);
    const heard = await events;
    checkOrder(heard);
    expect(heard.map(({ method }) => method)).toContain("values");
    expect(await readEvents(server.url, threadId, ended)).toEqual(heard);
  });

  it("also when the run itself makes it", async () => {
    const [server] = servers as [TestAgentServer];
    const threadId = randomUUID();
    const { events } = await listening(server, threadId);
    await server.client.runs.wait(threadId, "echo", { input, ifNotExists: "create" });
    checkOrder(await events);
  });

  it("also over a WebSocket", async () => {
    const [server] = servers as [TestAgentServer];
    const threadId = randomUUID();
    const line = await openSocket(server.url, `/threads/${threadId}/stream/events`);
    await line.ask("subscription.subscribe", { channels: allChannels });
    await makeAndRun(server, threadId);
    await line.until(() => ended(line.events()));
    checkOrder(line.events());
    await line.close();
  });

  it("also when it runs in another process than the one that is listened at", async () => {
    const [here, there] = servers as [TestAgentServer, TestAgentServer];
    await waitUntil(async () => (await countProcesses(here)) === 2, {
      what: "both processes to know of each other",
      timeoutMs: 20_000,
      intervalMs: 20,
    });
    const threadId = randomUUID();
    const { events } = await listening(here, threadId);
    await makeAndRun(there, threadId);
    const heard = await events;
    checkOrder(heard);
    expect(heard.map(({ method }) => method)).toContain("values");
  });

  it("speaks it on later runs too, after everybody has left", async () => {
    const [server] = servers as [TestAgentServer];
    const threadId = randomUUID();
    const { events } = await listening(server, threadId);
    await makeAndRun(server, threadId);
    await events;
    await server.client.runs.wait(threadId, "echo", { input });
    const all = await readEvents(server.url, threadId, (seen) => seen.filter(isTerminal).length === 2);
    checkOrder(all);
  });
});

async function countProcesses({ database }: TestAgentServer): Promise<number> {
  const rows = await database.query<{ count: number }>(
    { name: "test_count_processes", text: "select count(*)::int as count from server_processes" },
    [],
  );
  return rows[0]!.count;
}
