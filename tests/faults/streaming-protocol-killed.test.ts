import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { type ChildProcess, spawnProcess } from "../support/components/process.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { readEvents, sendCommand } from "../support/protocol-client.ts";
import { checkOrder, isTerminal, type WireEvent } from "../support/protocol-events.ts";

const childScript = fileURLToPath(new URL("../support/agent-server-child.ts", import.meta.url));
const leaseMs = 1_500;

let base: TestDatabase;
let child: ChildProcess | undefined;
let here: TestAgentServer | undefined;

beforeAll(async () => {
  base = await createTestDatabase({ poolSize: 2 });
});

afterAll(async () => {
  await child?.stop();
  await here?.stop();
  await base?.drop();
});

it("a client hears one story through the death of the process that told it", async () => {
  child = await spawnProcess(process.execPath, [childScript, base.url, String(leaseMs)], {
    name: "agent server",
  });
  const line = await child.waitForLine(/^ready (\S+)/m, 60_000);
  const url = /ready (\S+)/.exec(String(line))![1]!;
  const threadId = randomUUID();
  // Only the child has room for the run until it dies.
  await sendCommand(url, threadId, "run.start", { assistant_id: "slow", input: { pause: 400 } });
  here = await startTestAgentServer(base.url, { runLeaseMs: leaseMs });
  const client = new Client({ apiUrl: here.url, apiKey: null });
  const thread = client.threads.stream(threadId, { assistantId: "slow", transport: "websocket" });
  const heard: string[] = [];
  const channel = await thread.subscribe({ channels: ["lifecycle", "values", "updates", "checkpoints"] });
  let killed = false;
  for await (const event of channel) {
    heard.push(event.event_id!);
    if (!killed && event.method === "updates") {
      killed = true;
      child.kill();
    }
    if (isTerminal(event as never)) break;
  }
  expect(killed).toBe(true);
  const channels = ["lifecycle", "values", "updates", "checkpoints"];
  const all = await readEvents(here.url, threadId, (events) => events.some(isTerminal), { channels });
  checkOrder(all);
  const everything = await readEvents(here.url, threadId, (events) => events.some(isTerminal));
  expect(everything.map((event) => event.seq)).toEqual(everything.map((_, index) => index + 1));
  expect(heard).toEqual(all.map((event) => event.event_id));
  const beginnings = all.flatMap((event, index) => (isRunning(event) ? [index] : []));
  expect(beginnings).toHaveLength(2);
  expect(all[beginnings[1]! + 1]!).toMatchObject({
    method: "values",
    params: { data: { steps: [expect.any(String)] } },
  });
  const { values } = await here.client.threads.getState<{ steps: string[] }>(threadId);
  expect(values.steps.map((step) => step.split("@")[0])).toEqual(["one", "two", "three"]);
  await thread.close();
}, 60_000);

function isRunning(event: WireEvent): boolean {
  return event.method === "lifecycle" && event.params.data.event === "running";
}
