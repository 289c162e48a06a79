import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { startTestTraces, type TestTraces } from "../support/agent-traces.ts";
import { type ChildProcess, spawnProcess } from "../support/components/process.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase } from "../support/database.ts";

const childScript = fileURLToPath(new URL("../support/agent-server-child.ts", import.meta.url));
const leaseMs = 1_500;
const lostId = "00000000-0000-4000-8000-00000000dead";

let test: Awaited<ReturnType<typeof createTestDatabase>>;
let here: TestAgentServer | undefined;
let child: ChildProcess | undefined;
let traces: TestTraces | undefined;

beforeAll(async () => {
  test = await createTestDatabase({ poolSize: 2 });
});
afterEach(async () => {
  await child?.stop();
  await here?.stop();
  await traces?.stop();
  child = here = traces = undefined;
});
afterAll(() => test?.drop());

type Steps = { steps: string[] };

function startChild(...more: string[]): Promise<{ process: ChildProcess; client: Client }> {
  return startChildWith(leaseMs, ...more);
}

async function startChildWith(leaseMs: number, ...more: string[]) {
  child = await spawnProcess(process.execPath, [childScript, test.url, String(leaseMs), ...more], {
    name: "agent server",
  });
  const line = await child.waitForLine(/^ready (\S+)/m, 60_000);
  return { process: child, client: new Client({ apiUrl: /ready (\S+)/.exec(String(line))![1]! }) };
}

const stepsOf = (values: unknown) => (values as Steps).steps;
const nameOf = (step: string) => step.split("@")[0];
const pidOf = (step: string) => Number(step.split("@")[1]);

describe("a killed agent server", () => {
  it("in the middle of a node: another process resumes the run from its last checkpoint", async () => {
    const { process: first, client } = await startChild();
    const thread = await client.threads.create();
    const run = await client.runs.create(thread.thread_id, "slow", { input: { pause: 400 } });
    for await (const event of client.runs.joinStream(thread.thread_id, run.run_id, { lastEventId: "-1" })) {
      if (event.event === "values" && stepsOf(event.data).length === 1) break;
    }
    first.kill();
    await first.waitExit();

    here = await startTestAgentServer(test.url, { runLeaseMs: leaseMs });
    const values = stepsOf(await here.client.runs.join(thread.thread_id, run.run_id));
    expect(values.map(nameOf)).toEqual(["one", "two", "three"]);
    expect(pidOf(values[0]!)).toBe(first.pid);
    expect(values.slice(1).map(pidOf)).toEqual([process.pid, process.pid]);
    expect((await here.client.runs.get(thread.thread_id, run.run_id)).status).toBe("success");
    expect((await here.client.threads.get(thread.thread_id)).status).toBe("idle");
  }, 60_000);

  it("which is known to be gone: its run goes on without waiting for its lease, and nobody deals to it", async () => {
    const longMs = 600_000;
    const { process: first, client } = await startChildWith(longMs);
    here = await startTestAgentServer(test.url, { runLeaseMs: longMs });
    const thread = await client.threads.create();
    const run = await client.runs.create(thread.thread_id, "slow", { input: { pause: 2_000 } });
    const rows = () =>
      here!.database.sql
        .selectFrom("runs")
        .select(["lease_owner", "attempt", "alone"])
        .where("run_id", "=", run.run_id)
        .executeTakeFirstOrThrow();
    const { lease_owner: owner } = await rows();
    expect(owner).not.toBe(here.server.processId);
    first.kill();
    await first.waitExit();

    here.server.processLost(owner!);
    await here.client.runs.join(thread.thread_id, run.run_id);
    expect((await here.client.runs.get(thread.thread_id, run.run_id)).status).toBe("success");
    expect(await rows()).toMatchObject({ attempt: 2, alone: false });
    const processes = () => here!.database.sql.selectFrom("server_processes").select("process_id").execute();
    await waitUntil(async () => !(await processes()).some(({ process_id }) => process_id === owner), {
      what: "the end of its presence",
      timeoutMs: 10_000,
    });
  }, 60_000);

  it("the last attempt after lost ones has a process to itself: what ends processes is alone when it does", async () => {
    here = await startTestAgentServer(test.url, { runLeaseMs: 600_000 }, { workers: false });
    const { database, client, server } = here;
    const [held, next] = await Promise.all(
      [1, 2].map(async (attempt) => {
        const thread = await client.threads.create();
        const { run_id } = await client.runs.create(thread.thread_id, "slow", { input: {} });
        const lease = { lease_owner: lostId, lease_expires_at: new Date(Date.now() + 600_000) };
        const row = { status: "running", attempt, ...lease } as const;
        await database.sql.updateTable("runs").set(row).where("run_id", "=", run_id).execute();
        return run_id;
      }),
    );
    server.processLost(lostId);
    const rows = await waitUntil(
      async () => {
        const found = await database.sql
          .selectFrom("runs")
          .select(["run_id", "status", "lease_owner", "alone"])
          .where("run_id", "in", [held!, next!])
          .orderBy("attempt")
          .execute();
        return found.every(({ status }) => status === "pending") && found;
      },
      { what: "the runs in the queue", timeoutMs: 10_000 },
    );
    expect(rows).toEqual([
      { run_id: held, status: "pending", lease_owner: null, alone: false },
      { run_id: next, status: "pending", lease_owner: null, alone: true },
    ]);
    await database.sql.deleteFrom("runs").where("run_id", "in", [held!, next!]).execute();
  }, 60_000);

  it("the run is one trace: attempt 1, its end, attempt 2, with the first input and the whole time", async () => {
    const { process: first, client } = await startChild("", "10000", "traced");
    traces = await startTestTraces(test.url);
    const thread = await client.threads.create();
    const run = await client.runs.create(thread.thread_id, "slow", { input: { pause: 400 } });
    // The first step is in the traces, the second runs.
    await waitUntil(async () => (await traces!.read(run.run_id)).some(({ name }) => name === "one"), {
      what: "the first step of attempt 1",
      timeoutMs: 20_000,
    });
    first.kill();
    await first.waitExit();

    here = await startTestAgentServer(test.url, { runLeaseMs: leaseMs, trace: traces.trace });
    await here.client.runs.join(thread.thread_id, run.run_id);
    const spans = await waitUntil(
      async () => {
        const found = await traces!.read(run.run_id);
        return found.some(({ id, end_time }) => id === run.run_id && end_time !== null) && found;
      },
      { what: "the end of the trace", timeoutMs: 20_000 },
    );
    const [root, ...others] = spans.filter(({ parent_run_id }) => parent_run_id === null);
    expect(others).toEqual([]);
    expect(root).toMatchObject({ id: run.run_id, name: "slow", status: "success", inputs: { pause: 400 } });
    const below = (id: string) => spans.filter((span) => span.parent_run_id === id);
    const [attempt1, attempt2] = below(run.run_id).filter(({ tags }) => tags.includes("treadle:attempt"));
    expect(attempt1).toMatchObject({
      name: "attempt 1",
      status: "error",
      error: expect.stringContaining("continued"),
    });
    expect(attempt2).toMatchObject({ name: "attempt 2", status: "success" });
    const [one] = below(run.run_id).filter(({ name }) => name === "one");
    expect(below(attempt2!.id).map(({ name }) => name)).toEqual(["two", "three"]);
    // From the first start, through the lease that had to run out, to the end.
    expect(Number(root!.start_time)).toBeLessThanOrEqual(Number(one!.start_time));
    expect(Number(attempt1!.end_time)).toBeGreaterThan(Number(one!.end_time));
    expect(Number(root!.end_time)).toBeGreaterThanOrEqual(Number(attempt2!.end_time));
  }, 60_000);

  it("a reader elsewhere sees one log: every number once, from 0, through the takeover", async () => {
    const { process: first, client } = await startChild();
    here = await startTestAgentServer(test.url, { runLeaseMs: leaseMs });
    const thread = await client.threads.create();
    const run = await client.runs.create(thread.thread_id, "slow", {
      input: { pause: 400 },
      streamResumable: true,
    });
    const seen: { id: number; event: string; data: unknown }[] = [];
    let killed = false;
    for await (const event of here.client.runs.joinStream(thread.thread_id, run.run_id, {
      lastEventId: "-1",
    })) {
      const { id } = event as { id?: string };
      seen.push({ id: Number(id), event: event.event, data: event.data });
      if (!killed && event.event === "values" && stepsOf(event.data).length === 1) {
        killed = true;
        first.kill();
      }
    }
    const ids = seen.map((event) => event.id);
    expect(ids).toEqual(ids.map((_, index) => index));
    expect(
      seen
        .filter((event) => event.event === "metadata")
        .map((event) => (event.data as { attempt: number }).attempt),
    ).toEqual([1, 2]);
    expect(stepsOf(seen.at(-1)!.data).map(nameOf)).toEqual(["one", "two", "three"]);
  }, 60_000);

  it("an interrupted thread waits through the restart and is answered afterwards", async () => {
    const { process: first, client } = await startChild();
    const thread = await client.threads.create();
    await client.runs.wait(thread.thread_id, "asking", { input: {} });
    first.kill();
    await first.waitExit();
    here = await startTestAgentServer(test.url, { runLeaseMs: leaseMs });
    expect((await here.client.threads.get(thread.thread_id)).status).toBe("interrupted");
    const done = await here.client.runs.wait(thread.thread_id, "asking", { command: { resume: "later" } });
    expect(stepsOf(done)).toEqual(["prepared", "answer: later"]);
  }, 60_000);

  it("again and again: the run ends with an error that says so", async () => {
    const threadId = await (async () => {
      here = await startTestAgentServer(test.url, { runLeaseMs: leaseMs });
      const thread = await here.client.threads.create();
      await here.stop();
      here = undefined;
      return thread.thread_id;
    })();
    let runId: string | undefined;
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const { process: doomed, client } = await startChild("", "10000", "traced");
      runId ??= (await client.runs.create(threadId, "endless", { input: {} })).run_id;
      for await (const event of client.runs.joinStream(threadId, runId, { lastEventId: "-1" })) {
        if (event.event === "metadata" && (event.data as { attempt: number }).attempt === attempt) break;
      }
      doomed.kill();
      await doomed.waitExit();
    }
    traces = await startTestTraces(test.url);
    here = await startTestAgentServer(test.url, { runLeaseMs: leaseMs, trace: traces.trace });
    expect(await here.client.runs.join(threadId, runId!)).toMatchObject({
      __error__: { error: "AttemptsExhausted", message: expect.stringContaining("3 times") },
    });
    const root = await waitUntil(
      async () => (await traces!.read(runId!)).find(({ id, end_time }) => id === runId && end_time !== null),
      { what: "the end of the trace", timeoutMs: 20_000 },
    );
    expect(root).toMatchObject({ status: "error", error: expect.stringContaining("3 times") });
    expect((await here.client.threads.get(threadId)).status).toBe("error");
  }, 90_000);
});

describe("two agent servers on one database", () => {
  it("share runs, and either can wait for, follow and cancel what the other runs", async () => {
    const { client } = await startChild();
    here = await startTestAgentServer(test.url, { runLeaseMs: leaseMs });
    const thread = await here.client.threads.create();
    const run = await client.runs.create(thread.thread_id, "slow", {
      input: { pause: 50 },
      streamResumable: true,
    });
    const [followed, joined] = await Promise.all([
      (async () => {
        const names: string[] = [];
        for await (const event of here!.client.runs.joinStream(thread.thread_id, run.run_id, {
          lastEventId: "-1",
        }))
          names.push(event.event);
        return names;
      })(),
      here.client.runs.join(thread.thread_id, run.run_id),
    ]);
    expect(followed).toEqual(["metadata", "values", "values", "values", "values"]);
    expect(stepsOf(joined).map(nameOf)).toEqual(["one", "two", "three"]);

    const endless = await client.runs.create(thread.thread_id, "endless", { input: {} });
    await here.client.runs.cancel(thread.thread_id, endless.run_id, true);
    expect((await client.runs.get(thread.thread_id, endless.run_id)).status).toBe("interrupted");
  }, 60_000);

  it("a graceful stop hands running runs over without counting an attempt", async () => {
    const { process: first, client } = await startChild();
    const thread = await client.threads.create();
    const run = await client.runs.create(thread.thread_id, "slow", { input: { pause: 300 } });
    here = await startTestAgentServer(test.url, { runLeaseMs: leaseMs });
    await first.stop("SIGTERM", 20_000);
    const values = stepsOf(await here.client.runs.join(thread.thread_id, run.run_id));
    expect(values.map(nameOf)).toEqual(["one", "two", "three"]);
  }, 60_000);
});
