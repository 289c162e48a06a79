import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let test: TestDatabase;
const servers: TestAgentServer[] = [];

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
});
afterAll(async () => {
  for (const server of servers) await server.stop();
  await test?.drop();
});

it("a process without workers takes no runs, and streams those that another one executes", async () => {
  const serving = await startTestAgentServer(test.url, {}, { workers: false });
  servers.push(serving);
  const { runs, threads } = serving.client;
  const { thread_id } = await threads.create();
  const { run_id } = await runs.create(thread_id, "slow", { input: { pause: 10 } });
  // Its status is in the answer to the next request: had it been taken, it would have been in the insert itself.
  expect(await runs.get(thread_id, run_id)).toMatchObject({ status: "pending" });
  servers.push(await startTestAgentServer(test.url));
  expect(await runs.join(thread_id, run_id)).toMatchObject({ steps: { length: 3 } });
  const steps: number[] = [];
  for await (const event of runs.stream(thread_id, "slow", { input: { pause: 10 }, streamMode: "values" })) {
    if (event.event === "values") steps.push((event.data as unknown as { steps: string[] }).steps.length);
  }
  expect(steps.at(-1)).toBeGreaterThan(3);
}, 60_000);
