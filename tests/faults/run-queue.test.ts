import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { runsChannel } from "../../src/agent-server/runs/run.ts";
import { raw } from "../../src/platform/db/raw.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { type ChildProcess, spawnProcess } from "../support/components/process.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { testGraphs } from "../support/test-graphs.ts";

const childScript = fileURLToPath(new URL("../support/agent-server-child.ts", import.meta.url));
const leaseMs = 1_500;
let test: TestDatabase;
let here: TestAgentServer;
let child: ChildProcess | undefined;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
  here = await startTestAgentServer(test.url, { runLeaseMs: leaseMs });
});
afterEach(async () => {
  await child?.stop();
  child = undefined;
});
afterAll(async () => {
  await here?.stop();
  await test?.drop();
});

const statusOf = async (threadId: string, runId: string) =>
  (await here.client.runs.get(threadId, runId)).status;

describe("a queued run", () => {
  it.each(["rollback", "delete"])("begins when the running one is gone by %s", async (how) => {
    const { client } = here;
    const { thread_id } = await client.threads.create();
    const endless = await client.runs.create(thread_id, "endless", { input: {} });
    const queued = await client.runs.create(thread_id, "slow", {
      input: { pause: 0 },
      multitaskStrategy: "enqueue",
    });
    if (how === "delete") await client.runs.delete(thread_id, endless.run_id);
    else await client.runs.cancel(thread_id, endless.run_id, true, "rollback");
    expect(await client.runs.join(thread_id, queued.run_id)).toMatchObject({ steps: expect.any(Array) });
    expect(await statusOf(thread_id, queued.run_id)).toBe("success");
    expect((await client.threads.get(thread_id)).status).toBe("idle");
  });

  it("that no wake-up told of begins at the next heartbeat", async () => {
    const { client, database } = here;
    const { thread_id } = await client.threads.create();
    const later = await client.runs.create(thread_id, "slow", { input: { pause: 0 }, afterSeconds: 3_600 });
    await raw`update runs set available_at = now() where run_id = ${later.run_id}`.execute(database.sql);
    await expect.poll(() => statusOf(thread_id, later.run_id), { timeout: 10_000 }).toBe("success");
  });
});

describe("a run whose creator died", () => {
  /** Nobody renews leases here: what is found is found by a wake-up or by the worker's own look. */
  const longLeaseMs = 600_000;

  it("right after its commit is begun by another process at once: the commit itself notifies", async () => {
    const worker = await startTestAgentServer(test.url, {
      runLeaseMs: longLeaseMs,
      graphs: new GraphRegistry(await testGraphs(["few"])),
    });
    try {
      const script = fileURLToPath(new URL("../support/dying-api-child.ts", import.meta.url));
      child = spawnProcess(process.execPath, [script, test.url], { name: "dying API" });
      const url = /ready (\S+)/.exec(await child.waitForLine(/^ready (\S+)/m, 60_000))![1]!;
      const { thread_id } = await worker.client.threads.create();
      const told: string[] = [];
      const unlisten = await test.database.listen(runsChannel, (payload) => told.push(payload));
      const asked = fetch(`${url}/threads/${thread_id}/runs`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ assistant_id: "few", input: { pause: 0 } }),
      });
      await expect(asked).rejects.toThrow();
      await child.waitExit();
      await expect.poll(() => told).toEqual([expect.stringMatching(/^wake:\d+$/)]);
      await unlisten();
      const [run] = await worker.client.runs.list(thread_id);
      await worker.client.runs.join(thread_id, run!.run_id);
      const { rows } = await raw<{ waited: number }>`select
          extract(epoch from started_at - created_at)::float8 as waited
        from runs where run_id = ${run!.run_id}`.execute(test.database.sql);
      expect(rows[0]!.waited).toBeLessThan(6);
    } finally {
      await worker.stop();
    }
  }, 60_000);

  it("and whose wake-up was lost is found by the next look, however long the lease is", async () => {
    const worker = await startTestAgentServer(test.url, {
      runLeaseMs: longLeaseMs,
      graphs: new GraphRegistry(await testGraphs(["few"])),
    });
    try {
      const { thread_id } = await worker.client.threads.create();
      const later = await worker.client.runs.create(thread_id, "few", {
        input: { pause: 0 },
        afterSeconds: 3_600,
      });
      // Late enough for the wake-up of its creation to be over.
      await raw`update runs set available_at = now() + interval '2 seconds' where run_id = ${later.run_id}`.execute(
        test.database.sql,
      );
      await expect.poll(() => statusOf(thread_id, later.run_id), { timeout: 8_000 }).toBe("success");
    } finally {
      await worker.stop();
    }
  }, 60_000);
});

describe("runs created on one thread at the same moment", () => {
  it("by two servers: one is taken, the others are refused or wait, and nothing fails", async () => {
    child = spawnProcess(process.execPath, [childScript, test.url, String(leaseMs)], {
      name: "agent server",
    });
    const line = await child.waitForLine(/^ready (\S+)/m, 60_000);
    const urls = [here.url, /ready (\S+)/.exec(line)![1]!];
    const create = async (threadId: string, index: number, body: object) => {
      const response = await fetch(`${urls[index % 2]}/threads/${threadId}/runs`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ assistant_id: "slow", input: { pause: 0 }, ...body }),
      });
      return { status: response.status, body: (await response.json()) as { run_id: string } };
    };
    for (let round = 0; round < 15; round += 1) {
      const refused = crypto.randomUUID();
      const waiting = crypto.randomUUID();
      const twelve = Array.from({ length: 12 }, (_, index) => index);
      const [rejecting, queueing] = await Promise.all(
        [
          { id: refused, multitask_strategy: "reject" },
          { id: waiting, multitask_strategy: "enqueue" },
        ].map(({ id, multitask_strategy }) =>
          Promise.all(
            twelve.map((index) => create(id, index, { multitask_strategy, if_not_exists: "create" })),
          ),
        ),
      );
      for (const { status } of rejecting!) expect([200, 409]).toContain(status);
      expect(rejecting!.some(({ status }) => status === 200)).toBe(true);
      expect(queueing!.map(({ status }) => status)).toEqual(twelve.map(() => 200));
      for (const { body } of queueing!) await here.client.runs.join(waiting, body.run_id);
    }
  }, 120_000);
});

describe("orderly hand-backs", () => {
  it("four stops and a kill do not use up the attempts", async () => {
    const start = async () => {
      child = spawnProcess(process.execPath, [childScript, test.url, String(leaseMs), "only-here", "0"], {
        name: "agent server",
      });
      const line = await child.waitForLine(/^ready (\S+)/m, 60_000);
      return { child, client: new Client({ apiUrl: /ready (\S+)/.exec(line)![1]! }) };
    };
    const attemptBegan = async (client: Client, threadId: string, runId: string, attempt: number) => {
      for await (const event of client.runs.joinStream(threadId, runId, { lastEventId: "-1" })) {
        if (event.event === "metadata" && (event.data as { attempt: number }).attempt === attempt) return;
      }
    };
    const first = await start();
    const { thread_id } = await first.client.threads.create();
    const run = await first.client.runs.create(thread_id, "only-here", { input: { pause: 3_000 } });
    let server = first;
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      await attemptBegan(server.client, thread_id, run.run_id, attempt);
      await server.child.stop("SIGTERM", 20_000);
      server = await start();
    }
    await attemptBegan(server.client, thread_id, run.run_id, 5);
    await server.child.kill();
    const last = await start();
    expect(await last.client.runs.join(thread_id, run.run_id)).toMatchObject({ steps: { length: 3 } });
    const { rows } = await raw`select status, attempt, excused from runs
      where run_id = ${run.run_id}`.execute(test.database.sql);
    expect(rows).toEqual([{ status: "success", attempt: 6, excused: 4 }]);
  }, 120_000);
});
