import { afterAll, beforeAll } from "vitest";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "./agent-server.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { readEvents, sendCommand } from "./protocol-client.ts";
import { isTerminal, type WireEvent } from "./protocol-events.ts";
import { protocolGraphs } from "./protocol-graphs.ts";

/** One agent server per test file over a database of its own, with everything a protocol test does with it. */
export function protocolServer() {
  let base: TestDatabase;
  let server: TestAgentServer;
  const startServer = async () =>
    startTestAgentServer(base.url, { graphs: new GraphRegistry(await protocolGraphs()) });
  const command = (threadId: string, method: string, params?: unknown) =>
    sendCommand(server.url, threadId, method, params);

  beforeAll(async () => {
    base = await createTestDatabase();
    server = await startServer();
  });
  afterAll(async () => {
    await server?.stop();
    await base?.drop();
  });

  return {
    server: () => server,
    async restart() {
      await server.stop();
      server = await startServer();
    },
    command,
    start: (threadId: string, assistantId: string, input: unknown, more: object = {}) =>
      command(threadId, "run.start", { assistant_id: assistantId, input, ...more }),
    /** Everything on the thread until this many runs are over. */
    eventsOf: (threadId: string, times = 1) =>
      readEvents(server.url, threadId, (events) => events.filter(isTerminal).length >= times),
    eventsUntil: (threadId: string, enough: (events: WireEvent[]) => boolean) =>
      readEvents(server.url, threadId, enough),
  };
}

export const say = (text: string) => ({ messages: [{ role: "user", content: text }] });

export function requestsIn(events: readonly WireEvent[]) {
  return events.flatMap((event) => (event.method === "input.requested" ? [event] : []));
}

/** How the runs of the thread began and ended. */
export function statusesIn(events: readonly WireEvent[]): string[] {
  return events.flatMap((event) =>
    event.method === "lifecycle" && event.params.namespace.length === 0 ? [event.params.data.event] : [],
  );
}

export function lastValues(events: readonly WireEvent[]): unknown {
  return events.findLast((event) => event.method === "values")?.params.data;
}
