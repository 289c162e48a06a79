import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { Gates, gatedGraph } from "../support/gated-graph.ts";
import { type Frame, readEvents, readFrames, sendCommand } from "../support/protocol-client.ts";
import { checkOrder, isTerminal, type WireEvent } from "../support/protocol-events.ts";
import { protocolGraphs } from "../support/protocol-graphs.ts";

const gates = new Gates();
let base: TestDatabase;
let server: TestAgentServer;

beforeAll(async () => {
  base = await createTestDatabase();
  const graphs = new Map([...(await protocolGraphs()), ["gated", await gatedGraph(gates)]]);
  server = await startTestAgentServer(base.url, { graphs: new GraphRegistry(graphs) });
});

afterAll(async () => {
  await server?.stop();
  await base?.drop();
});

const say = (content: string) => ({ messages: [{ role: "user", content }] });
const later = { input: say("later"), afterSeconds: 3600 };
const terminals = (events: WireEvent[]) =>
  events.filter(isTerminal).map((event) => (event.params.data as { event: string }).event);
const heardUntil = (threadId: string, count: number) =>
  readEvents(server.url, threadId, (all) => terminals(all).length === count);

/** A thread on which one run has come to its end. */
async function usedThread(): Promise<string> {
  const threadId = randomUUID();
  await sendCommand(server.url, threadId, "run.start", { assistant_id: "echo", input: say("first") });
  await heardUntil(threadId, 1);
  return threadId;
}

describe("a run that is cancelled before it began", () => {
  it.each(["interrupt", "rollback"] as const)(
    "comes to its end for those who listen (%s)",
    async (action) => {
      const threadId = await usedThread();
      const live = heardUntil(threadId, 2);
      const { run_id } = await server.client.runs.create(threadId, "echo", later);
      await server.client.runs.cancel(threadId, run_id, false, action);
      const heard = await live;
      expect(terminals(heard)).toEqual(["completed", "interrupted"]);
      checkOrder(heard);
      expect(await heardUntil(threadId, 2)).toEqual(heard);
      expect((await server.client.threads.get(threadId)).status).toBe("idle");
    },
  );

  it("leaves the next run its own numbers", async () => {
    const threadId = await usedThread();
    for (let round = 0; round < 3; round += 1) {
      const { run_id } = await server.client.runs.create(threadId, "echo", later);
      await server.client.runs.cancel(threadId, run_id);
    }
    await sendCommand(server.url, threadId, "run.start", { assistant_id: "echo", input: say("next") });
    const heard = await heardUntil(threadId, 5);
    const between = Array.from({ length: 3 }, () => "interrupted");
    expect(terminals(heard)).toEqual(["completed", ...between, "completed"]);
    expect(new Set(heard.map(({ seq }) => seq)).size).toBe(heard.length);
    checkOrder(heard);
  });

  it("says nothing in the middle of another run's words", async () => {
    const threadId = randomUUID();
    const name = `hold ${threadId}`;
    await sendCommand(server.url, threadId, "run.start", { assistant_id: "gated", input: say(name) });
    const { run_id } = await server.client.runs.create(threadId, "echo", {
      input: say("queued"),
      multitaskStrategy: "enqueue",
    });
    await server.client.runs.cancel(threadId, run_id);
    gates.open(name);
    const heard = await heardUntil(threadId, 1);
    expect(terminals(heard)).toEqual(["completed"]);
    checkOrder(heard);
    expect((await server.client.runs.get(threadId, run_id)).status).toBe("interrupted");
  });

  it("is told to the stream over all runs of the thread", async () => {
    const { thread_id: threadId } = await server.client.threads.create();
    const { run_id } = await server.client.runs.create(threadId, "echo", later);
    await server.client.runs.cancel(threadId, run_id);
    const isOver = (frames: Frame[]) => frames.some(({ event }) => event === "lifecycle");
    const url = `${server.url}/threads/${threadId}/stream?stream_modes=lifecycle`;
    const frames = await readFrames(url, { headers: { "last-event-id": "-" } }, isOver);
    expect(frames.at(-1)?.data).toEqual({ run_id, status: "interrupted" });
  });
});
