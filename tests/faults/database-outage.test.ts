import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { startTcpProxy, type TcpProxy } from "../support/components/tcp-proxy.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase } from "../support/database.ts";
import { type OutageServer, spawnOutageServer } from "../support/outage-server.ts";

type Site = { proxy: TcpProxy; server: OutageServer; client: Client };

/** A server with a database of its own, to which its way can be cut. */
async function withServer(leaseMs: number, work: (site: Site) => Promise<void>): Promise<void> {
  const database = await createTestDatabase({ poolSize: 1 });
  const proxy = await startTcpProxy({ target: database.url });
  try {
    const server = await spawnOutageServer({ url: proxy.urlFor(database.url), leaseMs });
    try {
      await work({ proxy, server, client: server.client });
    } finally {
      await proxy.restore();
      await server.process.stop();
    }
  } finally {
    await proxy.stop();
    await database.drop();
  }
}

const runMany = async (client: Client, count: number, durability: "sync" | "async") => {
  const threads = await Promise.all(Array.from({ length: count }, () => client.threads.create()));
  return Promise.all(
    threads.map(async ({ thread_id }) => {
      const run = await client.runs.create(thread_id, "wide", { input: { pause: 1_000 }, durability });
      return { thread_id, run_id: run.run_id };
    }),
  );
};

const ended = async (client: Client, runs: { thread_id: string; run_id: string }[]) => {
  const statuses = new Map<string, string>();
  const isOpen = (status: string) => status === "pending" || status === "running";
  await waitUntil(
    async () => {
      for (const { thread_id, run_id } of runs) {
        const { status } = await client.runs.get(thread_id, run_id);
        statuses.set(run_id, status);
      }
      return ![...statuses.values()].some(isOpen);
    },
    {
      what: "the runs to end",
      timeoutMs: 60_000,
      intervalMs: 500,
      evidence: () => [...statuses.values()].join(),
    },
  );
  return [...statuses.values()];
};

// Each is mostly waiting, with a server of its own: beside one another.
describe.concurrent.each([
  // Longer than any write waits for.
  { outageMs: 12_000, leaseMs: 20_000 },
  { outageMs: 6_000, leaseMs: 20_000 },
  // Longer than the lease: every run is stopped here and resumed afterwards.
  { outageMs: 4_000, leaseMs: 2_000 },
  { outageMs: 2_000, leaseMs: 20_000 },
])("a database that is away for $outageMs ms under a lease of $leaseMs ms", ({ outageMs, leaseMs }) => {
  it.each(["async", "sync"] as const)(
    "ends no run and no process (%s)",
    (durability) =>
      withServer(leaseMs, async ({ proxy, server, client }) => {
        const runs = await runMany(client, 12, durability);
        await server.process.waitForLine(/^began /);
        await proxy.refuse();
        await pause(outageMs);
        await proxy.restore();
        expect(await ended(client, runs)).toEqual(runs.map(() => "success"));
        for (const { thread_id } of runs) {
          const { values } = await client.threads.getState<{ steps: string[] }>(thread_id);
          expect(values.steps.toSorted()).toEqual(["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2"]);
        }
        expect(server.process.exit()).toBeUndefined();
        expect(server.process.output()).not.toMatch(/unhandled/i);
      }),
    120_000,
  );
});

describe("a network that acknowledges and never answers", () => {
  it(
    "leaves the server usable within 15 seconds after it, and its streams go on",
    () =>
      withServer(20_000, async ({ proxy, server, client }) => {
        const { thread_id } = await client.threads.create();
        const seen: unknown[] = [];
        const streamed = (async () => {
          const stream = client.runs.stream(thread_id, "wide", {
            input: { pause: 1_500 },
            streamResumable: true,
          });
          for await (const event of stream) {
            // The client makes an empty event of a heartbeat.
            if (event.event === "values") seen.push(event.data);
          }
        })();
        await expect.poll(() => seen.length, { timeout: 10_000 }).toBeGreaterThan(0);
        proxy.swallowOpen();
        const begunAt = performance.now();
        await expect
          .poll(
            async () => {
              const ok = await fetch(`${server.url}/threads`, {
                method: "POST",
                headers: { "content-type": "application/json" },
                body: "{}",
              });
              return ok.status;
            },
            { timeout: 30_000, interval: 250 },
          )
          .toBe(200);
        expect(performance.now() - begunAt).toBeLessThan(15_000);
        await streamed;
        expect((seen.at(-1) as { steps: string[] }).steps).toHaveLength(8);
      }),
    90_000,
  );
});
