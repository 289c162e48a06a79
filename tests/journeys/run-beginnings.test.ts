import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { createTestDatabase } from "../support/database.ts";

let test: Awaited<ReturnType<typeof createTestDatabase>>;
let server: TestAgentServer;
beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
  server = await startTestAgentServer(test.url);
});
afterAll(async () => {
  await server?.stop();
  await test?.drop();
});

describe("a run that is asked for", () => {
  it("keeps the thread busy for a run that is to come later, and frees it when that is cancelled", async () => {
    const { client } = server;
    const { thread_id } = await client.threads.create();
    const later = await client.runs.create(thread_id, "slow", { input: { pause: 1 }, afterSeconds: 3600 });
    const now = { input: { pause: 1 }, multitaskStrategy: "enqueue" as const };
    await client.runs.wait(thread_id, "slow", now);
    expect((await client.threads.get(thread_id)).status).toBe("busy");
    await client.runs.cancel(thread_id, later.run_id);
    expect((await client.threads.get(thread_id)).status).toBe("idle");
  });

  it("begins pending, also when it is taken at once", async () => {
    const { client } = server;
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, "slow", { input: { pause: 1 } });
    expect(run.status).toBe("pending");
    await client.runs.join(thread_id, run.run_id);
    expect((await client.runs.get(thread_id, run.run_id)).status).toBe("success");
  });

  it("404: from a checkpoint the thread does not have, which would hide the ones it has", async () => {
    const { client } = server;
    const { thread_id } = await client.threads.create();
    const done = await client.runs.wait(thread_id, "slow", { input: { pause: 1 } });
    for (const checkpointId of [randomUUID(), "no-checkpoint"]) {
      const run = { input: { pause: 1 }, checkpointId };
      await expect(client.runs.wait(thread_id, "slow", run)).rejects.toThrow(/HTTP 404.*[Cc]heckpoint/);
      const configured = { input: {}, config: { configurable: { checkpoint_id: checkpointId } } };
      await expect(client.runs.wait(thread_id, "slow", configured)).rejects.toThrow(/HTTP 404/);
      await expect(client.runs.wait(null, "slow", run as never)).rejects.toThrow(/HTTP 404/);
    }
    expect((await client.threads.getState(thread_id)).values).toEqual(done);
  });

  it("404: the runs of a thread that is not there", async () => {
    await expect(server.client.runs.list(randomUUID())).rejects.toThrow(/HTTP 404/);
  });
});
