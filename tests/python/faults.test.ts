import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { raw } from "../../src/platform/db/raw.ts";
import { isRunning } from "../support/components/process-table.ts";
import { waitUntil } from "../support/components/wait-until.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type PythonAgent, said, startPythonAgent, workersOf } from "./python-agent.ts";

let database: TestDatabase;
let agent: PythonAgent;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  agent = await startPythonAgent(database, { TREADLE_WATCHDOG_SECONDS: "3", TREADLE_LOG_LEVEL: "info" });
});
afterAll(async () => {
  await agent?.process.stop();
  await database?.drop();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "treadle-python-faults-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

/** The steps that have begun, in order. */
async function stepsOf(): Promise<string[]> {
  const text = await readFile(join(folder, "began"), "utf8").catch(() => "");
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split(" ")[0]!);
}

const began = async (name: string) => (await stepsOf()).includes(name);

/** A run that stands in its second step until a file lets it go on. */
async function startSteps(wait = "second") {
  const { thread_id } = await agent.client.threads.create();
  const run = await agent.client.runs.create(thread_id, "steps", {
    input: { folder, wait, done: [] },
    streamMode: ["updates"],
    streamResumable: true,
  });
  await waitUntil(() => began(wait), { what: "the step to begin", timeoutMs: 20_000 });
  // Its checkpoint is written beside the step that follows it.
  const isKept = async () => (await agent.client.threads.getState(thread_id)).next[0] === wait;
  await waitUntil(isKept, { what: "the checkpoint before the step", timeoutMs: 20_000 });
  return { threadId: thread_id, runId: run.run_id };
}

describe("a process that is killed", { timeout: 120_000 }, () => {
  it.each(["second", "third"])(
    "is followed by another, where the run goes on with its %s step: nothing is lost or told twice",
    async (wait) => {
      const { threadId, runId } = await startSteps(wait);
      const events: { event: string; data: unknown }[] = [];
      const reading = (async () => {
        for await (const { event, data } of agent.client.runs.joinStream(threadId, runId, {
          lastEventId: "-1",
        }))
          events.push({ event, data });
      })();
      const killedAt = performance.now();
      for (const pid of await workersOf(agent)) process.kill(pid, "SIGKILL");
      await waitUntil(async () => (await stepsOf()).filter((step) => step === wait).length === 2, {
        what: "the run to go on",
        timeoutMs: 20_000,
      });
      console.info(`went on ${Math.round(performance.now() - killedAt)} ms after the kill`);
      await writeFile(join(folder, "go"), "");
      await reading;
      expect(await agent.client.runs.get(threadId, runId)).toMatchObject({ status: "success" });
      const { values } = await agent.client.threads.getState<{ done: string[] }>(threadId);
      expect(values.done).toEqual(["first", "second", "third"]);
      const updates = events.filter(({ event }) => event === "updates");
      expect(updates.map(({ data }) => Object.keys(data as object)[0])).toEqual(["first", "second", "third"]);
      expect(await stepsOf()).toEqual(
        ["first", "second", "third"].flatMap((name) => (name === wait ? [name, name] : [name])),
      );
    },
  );

  it("is followed by the one in reserve, which is there while a run is under way", async () => {
    const { threadId, runId } = await startSteps();
    const pidOf = async (attempt: number) => {
      const text = await readFile(join(folder, "began"), "utf8");
      return Number(text.match(/^second (\d+)$/gm)?.[attempt]?.split(" ")[1]);
    };
    const serving = await pidOf(0);
    const inReserve = async () => (await workersOf(agent)).filter((pid) => pid !== serving);
    const isReady = async () => {
      const pids = await inReserve();
      const said = agent.process.output().matchAll(/"pid":(\d+)[^\n]*a Python process is in reserve/g);
      return pids.length === 1 && [...said].some(([, pid]) => Number(pid) === pids[0]);
    };
    // On a machine that is never at rest it is put off for half a minute, and imports after everything else.
    await waitUntil(isReady, { what: "a process in reserve", timeoutMs: 90_000 });
    const [spare] = await inReserve();
    process.kill(serving, "SIGKILL");
    await waitUntil(async () => (await pidOf(1)) > 0, { what: "the run to go on", timeoutMs: 20_000 });
    expect(await pidOf(1)).toBe(spare);
    await writeFile(join(folder, "go"), "");
    await agent.client.runs.join(threadId, runId);
    expect(await agent.client.runs.get(threadId, runId)).toMatchObject({ status: "success" });
  });

  it("by a run each time ends that run after three attempts; its neighbour finishes", async () => {
    const neighbour = await startSteps();
    const { thread_id } = await agent.client.threads.create();
    const killer = await agent.client.runs.create(thread_id, "trouble", { input: { kind: "die" } });
    await writeFile(join(folder, "go"), "");
    await agent.client.runs.join(neighbour.threadId, neighbour.runId);
    await agent.client.runs.join(thread_id, killer.run_id).catch(() => undefined);
    expect(await agent.client.runs.get(thread_id, killer.run_id)).toMatchObject({ status: "error" });
    expect(await agent.client.runs.get(neighbour.threadId, neighbour.runId)).toMatchObject({
      status: "success",
    });
    expect(await agent.client.runs.wait(null, "echo", { input: said("still here") })).toMatchObject({
      count: 1,
    });
  });
});

describe("a node that does not stop", { timeout: 120_000 }, () => {
  it.each(["loop", "sleep"])("is cancelled within two seconds: %s", async (kind) => {
    const { thread_id } = await agent.client.threads.create();
    const run = await agent.client.runs.create(thread_id, "trouble", { input: { kind } });
    await waitUntil(async () => (await agent.client.runs.get(thread_id, run.run_id)).status === "running", {
      what: "the graph to get there",
      timeoutMs: 10_000,
    });
    const askedAt = performance.now();
    await agent.client.runs.cancel(thread_id, run.run_id, true);
    const tookMs = performance.now() - askedAt;
    console.info(`cancelled in ${Math.round(tookMs)} ms`);
    // Two seconds are the server's; the rest is for a machine that has other things to do. The node itself would take 600 s or for ever.
    expect(tookMs).toBeLessThan(2_000 + 8_000);
    expect(await agent.client.runs.get(thread_id, run.run_id)).toMatchObject({ status: "interrupted" });
    expect(await agent.client.runs.wait(thread_id, "echo", { input: said("next") })).toMatchObject({
      count: 1,
    });
  });

  it("does not keep what its graph opened from being closed", async () => {
    const { thread_id } = await agent.client.threads.create();
    const run = await agent.client.runs.create(thread_id, "made", {
      input: {},
      config: { configurable: { folder } },
    });
    await waitUntil(() => existsSync(join(folder, "began")), {
      what: "the graph to get there",
      timeoutMs: 10_000,
    });
    await agent.client.runs.cancel(thread_id, run.run_id, true);
    await waitUntil(() => existsSync(join(folder, "closed")), {
      what: "the graph to get there",
      timeoutMs: 10_000,
    });
  });

  it("and holds the interpreter ends its process, which names the line; the next run is served", async () => {
    const { thread_id } = await agent.client.threads.create();
    const run = await agent.client.runs.create(thread_id, "trouble", { input: { kind: "regex" } });
    await agent.client.runs.join(thread_id, run.run_id).catch(() => undefined);
    expect(await agent.client.runs.get(thread_id, run.run_id)).toMatchObject({ status: "error" });
    expect(agent.process.output()).toMatch(/trouble\.py.*line \d+|line \d+.*trouble/);
    expect(await agent.client.runs.wait(null, "echo", { input: said("next") })).toMatchObject({ count: 1 });
  });
});

describe("a lease", { timeout: 60_000 }, () => {
  it("that another attempt has taken lets nothing more be written", async () => {
    const { threadId, runId } = await startSteps();
    await raw`update runs set attempt = attempt + 1 where run_id = ${runId}`.execute(database.database.sql);
    await writeFile(join(folder, "go"), "");
    await agent.process.waitForLine(new RegExp(`${runId}.*left to another process`), 10_000);
    const { values } = await agent.client.threads.getState<{ done: string[] }>(threadId);
    expect(values.done).toEqual(["first"]);
  });
});

/** How long each token of a run came after the one before. */
async function tokenGaps({ client }: PythonAgent): Promise<number[]> {
  const gaps: number[] = [];
  let last: number | undefined;
  for await (const { event } of client.runs.stream(null, "tokens", {
    input: said("hi"),
    streamMode: "messages-tuple",
  })) {
    if (!event.startsWith("messages")) continue;
    const now = performance.now();
    if (last !== undefined) gaps.push(now - last);
    last = now;
  }
  return gaps;
}

function nineNineOf(gaps: number[]): number {
  return gaps.sort((left, right) => left - right)[Math.floor(gaps.length * 0.99)]!;
}

describe("a large state", { timeout: 180_000 }, () => {
  it("of 100 MB is kept, while other runs are served", async () => {
    const other = await startPythonAgent(database);
    try {
      // What this machine does to tokens by itself, with what else it has to do.
      const alone: number[] = [];
      while (alone.length < 40) alone.push(...(await tokenGaps(other)));
      const { thread_id } = await other.client.threads.create();
      const large = other.client.runs.wait(thread_id, "trouble", { input: { kind: "large" } });
      const waits: number[] = [];
      const gaps: number[] = [];
      let isDone = false;
      const ended = large.finally(() => {
        isDone = true;
      });
      while (!isDone) {
        const askedAt = performance.now();
        await other.client.runs.wait(null, "echo", { input: said("hi") });
        waits.push(performance.now() - askedAt);
        gaps.push(...(await tokenGaps(other)));
      }
      const { value } = (await ended) as { value: string };
      expect(value).toHaveLength(100_000_000);
      const state = await other.client.threads.getState<{ value: string }>(thread_id);
      expect(state.values.value).toHaveLength(100_000_000);
      expect(gaps.length).toBeGreaterThan(0);
      alone.push(...(await tokenGaps(other)));
      const p99 = nineNineOf(gaps);
      console.info(
        `${waits.length} runs beside it, the slowest ${Math.round(Math.max(...waits))} ms; ` +
          `${gaps.length} tokens, p99 ${p99.toFixed(1)} ms, alone ${nineNineOf(alone).toFixed(1)} ms`,
      );
      // 50 ms on a machine that has nothing else to do.
      expect(p99).toBeLessThan(Math.max(50, 10 * nineNineOf(alone)));
    } finally {
      await other.process.stop();
    }
  });
});

describe("the server's own end", { timeout: 60_000 }, () => {
  it("ends its Python processes, asked or killed", async () => {
    for (const how of ["stop", "kill"] as const) {
      const other = await startPythonAgent(database, { TREADLE_PYTHON_WORKERS: "2" });
      await waitUntil(async () => (await workersOf(other)).length === 2, {
        what: "the graph to get there",
        timeoutMs: 20_000,
      });
      const pids = await workersOf(other);
      if (how === "stop") await other.process.stop();
      else process.kill(other.ready.pid, "SIGKILL");
      await waitUntil(() => !pids.some((pid) => isRunning(pid)), {
        what: "the graph to get there",
        timeoutMs: 10_000,
      });
      if (how === "kill") await other.process.kill();
    }
  });

  it("keeps what waits for an answer", async () => {
    const first = await startPythonAgent(database);
    const { thread_id } = await first.client.threads.create();
    await first.client.runs.wait(thread_id, "approval", { input: { subject: "go" } });
    await first.process.stop();
    const done = await agent.client.runs.wait(thread_id, "approval", { command: { resume: false } });
    expect(done).toMatchObject({ answer: false });
  });
});
