import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { readEvents, sendCommand } from "../support/protocol-client.ts";

let base: TestDatabase;
let server: TestAgentServer;
beforeAll(async () => {
  base = await createTestDatabase({ poolSize: 2 });
  server = await startTestAgentServer(base.url);
});
afterAll(async () => {
  await server?.stop();
  await base?.drop();
});

it("an answer given the moment it is asked for is taken, thirty times of thirty", async () => {
  const answers = Array.from({ length: 30 }, async () => {
    const threadId = randomUUID();
    await sendCommand(server.url, threadId, "run.start", { assistant_id: "asking", input: {} });
    const asked = await readEvents(
      server.url,
      threadId,
      (events) => events.some((event) => event.method === "input.requested"),
      { channels: ["input"] },
    );
    const { interrupt_id } = asked.at(-1)!.params.data as { interrupt_id: string };
    const answer = await sendCommand(server.url, threadId, "input.respond", {
      namespace: [],
      interrupt_id,
      response: "at once",
    });
    return (answer as { type: string }).type;
  });
  expect(await Promise.all(answers)).toEqual(answers.map(() => "success"));
});

it("a run started the moment its stream tells of the interrupt finds the thread waiting", async () => {
  const { client } = server;
  for (let round = 0; round < 10; round += 1) {
    const { thread_id } = await client.threads.create();
    for await (const event of client.runs.stream(thread_id, "asking", {
      input: {},
      streamMode: ["updates", "values"],
    })) {
      if (event.event !== "updates" || !("__interrupt__" in (event.data as object))) continue;
      expect((await client.threads.get(thread_id)).status).toBe("interrupted");
      const done = await client.runs.wait(thread_id, "asking", {
        command: { resume: "now" },
        multitaskStrategy: "reject",
      });
      expect(done).toMatchObject({ steps: ["prepared", "answer: now"] });
      break;
    }
  }
});
