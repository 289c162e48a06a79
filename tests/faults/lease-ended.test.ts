import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type OutageServer, spawnOutageServer } from "../support/outage-server.ts";

const leaseMs = 2_000;
let test: TestDatabase;
let proxy: TcpProxy;
const servers: OutageServer[] = [];

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
  proxy = await startTcpProxy({ target: test.url });
});
afterEach(async () => {
  await proxy.restore();
  await Promise.all(servers.splice(0).map((server) => server.process.stop()));
});
afterAll(async () => {
  await proxy?.stop();
  await test?.drop();
});

const spawn = async (url: string) => {
  const server = await spawnOutageServer({ url, leaseMs });
  servers.push(server);
  return server;
};

/** When each node of the second step began, by the clock all processes of this machine share. */
const secondSteps = (server: OutageServer) =>
  [...server.process.output().matchAll(/^began (?:\w)2 (\d+)/gm)].map(([, at]) => Number(at));

async function startRun(server: OutageServer, pauseMs: number) {
  const { thread_id } = await server.client.threads.create();
  const run = await server.client.runs.create(thread_id, "wide", { input: { pause: pauseMs } });
  await server.process.waitForLine(/^began d1/, 10_000);
  return { thread_id, run_id: run.run_id };
}

describe("a process whose lease ended", () => {
  it("after it was stopped for longer begins no further node, and the attempt does not count", async () => {
    const first = await spawn(test.url);
    const run = await startRun(first, 1_000);
    first.process.signal("SIGSTOP");
    const second = await spawn(test.url);
    // By then the other one has taken the run over.
    await second.process.waitForLine(/^began d1/, 20_000);
    first.process.signal("SIGCONT");
    expect(await second.client.runs.join(run.thread_id, run.run_id)).toMatchObject({ steps: { length: 8 } });
    expect(secondSteps(second)).toHaveLength(4);
    expect(secondSteps(first)).toEqual([]);
    await expect
      .poll(async () => {
        const { rows } = await raw`select attempt, excused from runs where run_id = ${run.run_id}`.execute(
          test.database.sql,
        );
        return rows;
      })
      .toEqual([{ attempt: 2, excused: 1 }]);
  }, 60_000);

  it("because it is cut off from the database begins no further node", async () => {
    const first = await spawn(proxy.urlFor(test.url));
    const run = await startRun(first, 3_500);
    proxy.blackHole();
    const second = await spawn(test.url);
    expect(await second.client.runs.join(run.thread_id, run.run_id)).toMatchObject({ steps: { length: 8 } });
    // Its own second steps would have begun while the other one was still at its first.
    expect(secondSteps(first)).toEqual([]);
    expect(secondSteps(second)).toHaveLength(4);
  }, 60_000);

  it("because it is cut off stops within the lease, and nothing it still says is in the log", async () => {
    const first = await spawn(proxy.urlFor(test.url));
    // Longer than the lease: the run would still be at its first step.
    const run = await startRun(first, leaseMs * 2);
    const { rows } = await raw<{ now: Date }>`select clock_timestamp() as now`.execute(test.database.sql);
    const cutAt = rows[0]!.now.getTime();
    proxy.blackHole();
    await first.process.waitForLine(/^stopped d1/m, 20_000);
    const stops = [...first.process.output().matchAll(/^stopped \w1 (\d+)/gm)].map(([, at]) => Number(at));
    expect(stops).toHaveLength(4);
    for (const at of stops) expect(at - cutAt).toBeLessThanOrEqual(leaseMs + 500);
    const second = await spawn(test.url);
    await second.client.runs.join(run.thread_id, run.run_id);
    await proxy.restore();
    // Once more with the first one back: it may give back what it held, and say nothing.
    const events = await raw<{ seq: number; name: string; data: string }>`select seq::int as seq, name, data
      from thread_events where thread_id = ${run.thread_id} order by seq`.execute(test.database.sql);
    const numbers = events.rows.map(({ seq }) => seq);
    expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index));
    const attempts = events.rows
      .filter(({ name }) => name === "metadata")
      .map(({ data }) => (JSON.parse(data) as { attempt: number }).attempt);
    expect(attempts).toEqual([1, 2]);
  }, 60_000);
});
