import { Client } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type OutageServer, spawnOutageServer } from "../support/outage-server.ts";

let test: TestDatabase;
let first: OutageServer | undefined;
let second: TestAgentServer | undefined;
let address: TcpProxy | undefined;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
});
afterEach(async () => {
  await first?.process.stop();
  await second?.stop();
  await address?.stop();
  first = second = address = undefined;
});
afterAll(() => test?.drop());

const graceMs = 6_000;
const start = (grace = graceMs) =>
  spawnOutageServer({ url: test.url, leaseMs: 20_000, graph: "slow", graceMs: grace });

describe("SIGTERM", () => {
  it("lets streams go on to the end of runs that end within the grace", async () => {
    first = await start();
    const { thread_id } = await first.client.threads.create();
    const steps: string[][] = [];
    const stream = first.client.runs.stream(thread_id, "slow", { input: { pause: 700 } });
    for await (const event of stream) {
      if (event.event !== "values") continue;
      steps.push((event.data as { steps: string[] }).steps);
      if (steps.length === 1) first.process.signal("SIGTERM");
    }
    expect(steps.at(-1)).toHaveLength(3);
    expect(await first.process.waitExit(graceMs)).toMatchObject({ code: 0 });
  }, 60_000);

  it("cuts the stream of a run that takes longer so that its client comes back and hears the rest", async () => {
    // Shorter than what the run has left to do.
    first = await start(1_500);
    // What clients see of a service: one address, behind which servers come and go.
    address = await startTcpProxy({ target: first.url });
    const client = new Client({ apiUrl: address.urlFor(first.url) });
    const { thread_id } = await client.threads.create();
    const ids: number[] = [];
    const steps: string[][] = [];
    let stopped = 0;
    const stream = client.runs.stream(thread_id, "slow", { input: { pause: 1_500 }, streamResumable: true });
    for await (const event of stream) {
      const { id } = event as { id?: string };
      // The client makes an empty event of a heartbeat.
      if (event.event) ids.push(Number(id));
      if (event.event !== "values") continue;
      steps.push((event.data as { steps: string[] }).steps);
      if (stopped === 0) {
        stopped = performance.now();
        first.process.signal("SIGTERM");
        second = await startTestAgentServer(test.url, { runLeaseMs: 20_000 });
        address.retarget(second.url);
      }
    }
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
    expect(steps.at(-1)).toHaveLength(3);
    expect(first.process.exit()).toMatchObject({ code: 0 });
  }, 90_000);

  it("takes no longer than the grace, whatever runs and listens, and leaves queued runs to others", async () => {
    first = await spawnOutageServer({ url: test.url, leaseMs: 20_000, graph: "endless", graceMs: 2_000 });
    const { client, url } = first;
    const { thread_id } = await client.threads.create();
    const running = await client.runs.create(thread_id, "endless", { input: {} });
    const queued = await client.runs.create(thread_id, "endless", {
      input: {},
      multitaskStrategy: "enqueue",
    });
    const endless = await fetch(`${url}/threads/${thread_id}/stream`);
    const cut = endless.text().then(
      () => "ended",
      () => "cut",
    );
    const begun = performance.now();
    first.process.signal("SIGTERM");
    expect(await first.process.waitExit(10_000)).toMatchObject({ code: 0 });
    expect(performance.now() - begun).toBeLessThan(3_000);
    expect(await cut).toBe("cut");
    second = await startTestAgentServer(test.url, { runConcurrency: 1 });
    await expect
      .poll(async () => (await second!.client.runs.get(thread_id, running.run_id)).status)
      .toBe("running");
    expect((await second.client.runs.get(thread_id, queued.run_id)).status).toBe("pending");
    await second.client.runs.cancel(thread_id, queued.run_id);
    await second.client.runs.cancel(thread_id, running.run_id, true);
  }, 60_000);
});
