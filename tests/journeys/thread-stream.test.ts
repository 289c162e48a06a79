import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { readFrames } from "../support/protocol-client.ts";
import { protocolGraphs } from "../support/protocol-graphs.ts";

const say = (text: string) => ({ messages: [{ role: "user", content: text }] });

let base: TestDatabase;
let server: TestAgentServer;

beforeAll(async () => {
  base = await createTestDatabase();
  server = await startTestAgentServer(base.url, { graphs: new GraphRegistry(await protocolGraphs()) });
});

afterAll(async () => {
  await server?.stop();
  await base?.drop();
});

describe("the stream over all runs of a thread", () => {
  it("tells what each run's own modes say, and goes on after Last-Event-ID", async () => {
    const thread = await server.client.threads.create();
    await server.client.runs.wait(thread.thread_id, "echo", { input: say("one") });
    await server.client.runs.join(
      thread.thread_id,
      (
        await server.client.runs.create(thread.thread_id, "slow", {
          input: { pause: 0 },
          streamMode: "updates",
        })
      ).run_id,
    );
    const url = `${server.url}/threads/${thread.thread_id}/stream`;
    const frames = await readFrames(url, { headers: { "last-event-id": "-" } }, (all) => all.length >= 7);
    expect(frames.map((frame) => frame.event)).toEqual([
      "metadata",
      "values",
      "values",
      "metadata",
      "updates",
      "updates",
      "updates",
    ]);
    const rest = await readFrames(
      url,
      { headers: { "last-event-id": frames[3]!.id! } },
      (all) => all.length >= 3,
    );
    expect(rest).toEqual(frames.slice(4));
  });

  it("can tell of beginnings, ends and states alone", async () => {
    const thread = await server.client.threads.create();
    await server.client.runs.wait(thread.thread_id, "echo", { input: say("one") });
    const url = `${server.url}/threads/${thread.thread_id}/stream?stream_modes=lifecycle&stream_modes=state_update`;
    const frames = await readFrames(url, { headers: { "last-event-id": "-" } }, (all) => all.length >= 3);
    expect(frames).toMatchObject([
      { event: "lifecycle", data: { status: "running" } },
      {
        event: "state_update",
        data: { values: { messages: [{ content: "one" }, { content: "echo one" }] } },
      },
      { event: "lifecycle", data: { status: "success" } },
    ]);
  });

  it("is what the real client joins", async () => {
    const thread = await server.client.threads.create();
    const stop = new AbortController();
    const heard: string[] = [];
    const joined = (async () => {
      for await (const part of server.client.threads.joinStream(thread.thread_id, {
        signal: stop.signal,
        lastEventId: "-",
      })) {
        heard.push(part.event);
        if (part.event === "values" && heard.filter((name) => name === "values").length === 4) break;
      }
    })();
    await server.client.runs.wait(thread.thread_id, "echo", { input: say("one") });
    await server.client.runs.wait(thread.thread_id, "echo", { input: say("two") });
    await joined;
    stop.abort();
    expect(heard).toEqual(["metadata", "values", "values", "metadata", "values", "values"]);
  });

  it("404 for a thread that is not there, 422 for a mode that is not", async () => {
    expect((await fetch(`${server.url}/threads/${randomUUID()}/stream`)).status).toBe(404);
    const thread = await server.client.threads.create();
    expect((await fetch(`${server.url}/threads/${thread.thread_id}/stream?stream_modes=all`)).status).toBe(
      422,
    );
  });
});
