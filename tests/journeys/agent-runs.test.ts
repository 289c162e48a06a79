import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { createTestDatabase } from "../support/database.ts";
import { testGraphs } from "../support/test-graphs.ts";

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

type Steps = { steps: string[] };
const names = (values: unknown) => (values as Steps).steps.map((step) => step.split("@")[0]);

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of stream) all.push(item);
  return all;
}

/** Waits until the first step of a slow run has been checkpointed, by following its events. */
async function untilFirstStep(threadId: string, runId: string): Promise<void> {
  for await (const event of server.client.runs.joinStream(threadId, runId, { lastEventId: "-1" })) {
    if (event.event === "values" && names(event.data).length > 0) return;
  }
}

describe("runs on a thread", () => {
  it("waits for the final values and leaves the thread idle", async () => {
    const { client } = server;
    const thread = await client.threads.create();
    const values = await client.runs.wait(thread.thread_id, "slow", { input: { pause: 1 } });
    expect(names(values)).toEqual(["one", "two", "three"]);
    const after = await client.threads.get(thread.thread_id);
    expect(after).toMatchObject({ status: "idle", metadata: { graph_id: "slow" } });
    expect(names(after.values)).toEqual(["one", "two", "three"]);
  });

  it("streams values and updates in order, each with an id", async () => {
    const thread = await server.client.threads.create();
    const events = await collect(
      server.client.runs.stream(thread.thread_id, "slow", {
        input: { pause: 1 },
        streamMode: ["values", "updates"],
      }),
    );
    expect(events.map((event) => event.event)).toEqual([
      "metadata",
      "values",
      "updates",
      "values",
      "updates",
      "values",
      "updates",
      "values",
    ]);
    const ids = events.map((event) => Number((event as { id?: string }).id));
    expect(ids).toEqual(ids.map((_, index) => index));
  });

  it("lets another assistant go on from the checkpoint of the first", async () => {
    const { client } = server;
    const thread = await client.threads.create();
    await client.runs.wait(thread.thread_id, "slow", { input: { pause: 1 } });
    const values = await client.runs.wait(thread.thread_id, "asking", { input: {} });
    expect(names(values)).toEqual(["one", "two", "three", "prepared"]);
  });

  it("makes the thread with the run when asked, with the run's metadata", async () => {
    const { client } = server;
    const threadId = randomUUID();
    const values = await client.runs.wait(threadId, "slow", {
      input: { pause: 1 },
      ifNotExists: "create",
      metadata: { topic: "looms", graph_id: "another" },
    });
    expect(names(values)).toEqual(["one", "two", "three"]);
    const { metadata } = await client.threads.get(threadId);
    expect(metadata).toMatchObject({ topic: "looms", graph_id: "slow" });
    await client.runs.wait(threadId, "slow", { input: { pause: 1 }, metadata: { topic: "of this run" } });
    expect((await client.threads.get(threadId)).metadata).toEqual(metadata);
  });

  it("ends a failing run with its error and stays alive", async () => {
    const { client } = server;
    const thread = await client.threads.create();
    const events = await collect(client.runs.stream(thread.thread_id, "failing", { input: {} }));
    expect(events.at(-1)).toMatchObject({
      event: "error",
      data: { error: "RangeError", message: "the second node always fails" },
    });
    expect((await client.threads.get(thread.thread_id)).status).toBe("error");
    expect(await client.runs.list(thread.thread_id)).toMatchObject([{ status: "error" }]);
    await expect(client.runs.wait(thread.thread_id, "failing", { input: {} })).rejects.toThrow(
      /always fails/,
    );
  });

  it("stops at an interrupt, tells it, and goes on with the answer", async () => {
    const { client } = server;
    const thread = await client.threads.create();
    const stopped = (await client.runs.wait(thread.thread_id, "asking", { input: {} })) as Record<
      string,
      unknown
    >;
    expect(stopped.__interrupt__).toMatchObject([{ value: { question: "go on?" } }]);
    const waiting = await client.threads.get(thread.thread_id);
    expect(waiting.status).toBe("interrupted");
    expect(Object.values(waiting.interrupts).flat()).toMatchObject([{ value: { question: "go on?" } }]);
    const state = await client.threads.getState(thread.thread_id);
    expect(state.next).toEqual(["ask"]);
    const done = await client.runs.wait(thread.thread_id, "asking", { command: { resume: "yes" } });
    expect(done).toMatchObject({ steps: ["prepared", "answer: yes"] });
    expect((await client.threads.get(thread.thread_id)).status).toBe("idle");
  });

  it.each([false, 0, ""])("takes %j as an answer to an interrupt", async (answer) => {
    const { client } = server;
    const thread = await client.threads.create();
    await client.runs.wait(thread.thread_id, "asking", { input: {} });
    const done = await client.runs.wait(thread.thread_id, "asking", { command: { resume: answer } });
    expect(done).toMatchObject({ steps: ["prepared", `answer: ${String(answer)}`] });
  });

  it("stops before a node when asked and goes on with no input", async () => {
    const { client } = server;
    const thread = await client.threads.create();
    await client.runs.wait(thread.thread_id, "slow", { input: { pause: 1 }, interruptBefore: ["two"] });
    expect((await client.threads.get(thread.thread_id)).status).toBe("interrupted");
    expect((await client.threads.getState(thread.thread_id)).next).toEqual(["two"]);
    const done = await client.runs.wait(thread.thread_id, "slow", { input: null });
    expect(names(done)).toEqual(["one", "two", "three"]);
  });

  it("starts after the asked delay", async () => {
    const { client } = server;
    const thread = await client.threads.create();
    const before = Date.now();
    const run = await client.runs.create(thread.thread_id, "slow", { input: { pause: 1 }, afterSeconds: 1 });
    expect(run.status).toBe("pending");
    expect(await client.threads.get(thread.thread_id)).toMatchObject({
      status: "busy",
      metadata: { graph_id: "slow" },
    });
    await client.runs.join(thread.thread_id, run.run_id);
    expect(Date.now() - before).toBeGreaterThanOrEqual(1_000);
    expect((await client.threads.get(thread.thread_id)).status).toBe("idle");
  });
});

describe("cancelling", () => {
  it("stops a running graph and keeps its progress", async () => {
    const { client } = server;
    const thread = await client.threads.create();
    const run = await client.runs.create(thread.thread_id, "endless", { input: {} });
    await untilFirstStep(thread.thread_id, run.run_id);
    await client.runs.cancel(thread.thread_id, run.run_id, true);
    expect((await client.runs.get(thread.thread_id, run.run_id)).status).toBe("interrupted");
    const state = await client.threads.getState(thread.thread_id);
    expect(state).toMatchObject({ values: { steps: ["begin"] }, next: ["wait"] });
  });

  it("with rollback leaves no trace of the run", async () => {
    const { client } = server;
    const thread = await client.threads.create();
    await client.runs.wait(thread.thread_id, "slow", { input: { pause: 1 } });
    const before = await client.threads.getHistory(thread.thread_id, { limit: 100 });
    const run = await client.runs.create(thread.thread_id, "endless", { input: {} });
    await untilFirstStep(thread.thread_id, run.run_id);
    await client.runs.cancel(thread.thread_id, run.run_id, true, "rollback");
    await expect(client.runs.get(thread.thread_id, run.run_id)).rejects.toThrow(/404/);
    expect(await client.threads.getHistory(thread.thread_id, { limit: 100 })).toEqual(before);
    expect(names((await client.threads.get(thread.thread_id)).values)).toEqual(["one", "two", "three"]);
  });

  it("cancels many at once", async () => {
    const { client } = server;
    const thread = await client.threads.create();
    const first = await client.runs.create(thread.thread_id, "endless", { input: {} });
    const second = await client.runs.create(thread.thread_id, "endless", { input: {} });
    await client.runs.cancelMany({ threadId: thread.thread_id, runIds: [first.run_id, second.run_id] });
    await client.runs.join(thread.thread_id, first.run_id);
    await client.runs.join(thread.thread_id, second.run_id);
    const statuses = (await client.runs.list(thread.thread_id)).map((run) => run.status);
    expect(statuses).toEqual(["interrupted", "interrupted"]);
  });

  it("cancels when the client leaves and asked for it", async () => {
    const { client } = server;
    const thread = await client.threads.create();
    const stop = new AbortController();
    const stream = client.runs.stream(thread.thread_id, "endless", {
      input: {},
      onDisconnect: "cancel",
      signal: stop.signal,
    });
    for await (const event of stream) if (event.event === "values" && names(event.data).length > 0) break;
    stop.abort();
    const [run] = await client.runs.list(thread.thread_id);
    await client.runs.join(thread.thread_id, run!.run_id);
    expect((await client.runs.get(thread.thread_id, run!.run_id)).status).toBe("interrupted");
  });
});

describe("a busy thread", () => {
  const start = async () => {
    const thread = await server.client.threads.create();
    const run = await server.client.runs.create(thread.thread_id, "endless", { input: {} });
    await untilFirstStep(thread.thread_id, run.run_id);
    return { threadId: thread.thread_id, runId: run.run_id };
  };

  it("reject answers 409", async () => {
    const { threadId, runId } = await start();
    const second = server.client.runs.create(threadId, "slow", {
      input: { pause: 1 },
      multitaskStrategy: "reject",
    });
    await expect(second).rejects.toThrow(/409.*already running/);
    await server.client.runs.cancel(threadId, runId, true);
  });

  it("enqueue runs one after the other, in the order asked", async () => {
    const { client } = server;
    const thread = await client.threads.create();
    const tags = ["a", "b", "c"];
    const runs: string[] = [];
    for (const tag of tags) {
      const input = { steps: [tag], pause: 20 };
      const run = await client.runs.create(thread.thread_id, "slow", { input, multitaskStrategy: "enqueue" });
      runs.push(run.run_id);
    }
    await Promise.all(runs.map((runId) => client.runs.join(thread.thread_id, runId)));
    const { values } = await client.threads.getState(thread.thread_id);
    expect(names(values)).toEqual(tags.flatMap((tag) => [tag, "one", "two", "three"]));
  });

  it("interrupt stops the running one and keeps what it did", async () => {
    const { threadId, runId } = await start();
    const values = await server.client.runs.wait(threadId, "slow", {
      input: { pause: 1 },
      multitaskStrategy: "interrupt",
    });
    expect(names(values)).toEqual(["begin", "one", "two", "three"]);
    expect((await server.client.runs.get(threadId, runId)).status).toBe("interrupted");
  });

  it("rollback removes the running one", async () => {
    const { threadId, runId } = await start();
    const values = await server.client.runs.wait(threadId, "slow", {
      input: { pause: 1 },
      multitaskStrategy: "rollback",
    });
    expect(names(values)).toEqual(["one", "two", "three"]);
    await expect(server.client.runs.get(threadId, runId)).rejects.toThrow(/404/);
  });

  it("refuses a change of its state", async () => {
    const { threadId, runId } = await start();
    await expect(server.client.threads.updateState(threadId, { values: { steps: ["x"] } })).rejects.toThrow(
      /409/,
    );
    await server.client.runs.cancel(threadId, runId, true);
  });
});

describe("joining", () => {
  it("resumes after the last event the client saw, without loss or repetition", async () => {
    const { client } = server;
    const thread = await client.threads.create();
    const all = await collect(
      client.runs.stream(thread.thread_id, "slow", { input: { pause: 5 }, streamResumable: true }),
    );
    const [run] = await client.runs.list(thread.thread_id);
    const cut = all[1] as { id?: string };
    const rest = await collect(
      client.runs.joinStream(thread.thread_id, run!.run_id, { lastEventId: cut.id! }),
    );
    expect(rest).toEqual(all.slice(2));
  });
});

describe("stateless runs", () => {
  it("return values and leave no thread behind", async () => {
    const { client } = server;
    const before = await client.threads.count();
    const values = await client.runs.wait(null, "slow", { input: { pause: 1 } });
    expect(names(values)).toEqual(["one", "two", "three"]);
    await expect.poll(() => client.threads.count()).toBe(before);
  });

  it("keep their thread when asked", async () => {
    const { client } = server;
    const before = await client.threads.count();
    await client.runs.wait(null, "slow", { input: { pause: 1 }, onCompletion: "keep" } as never);
    expect(await client.threads.count()).toBe(before + 1);
  });

  it("run in batches", async () => {
    const runs = await server.client.runs.createBatch(
      // The client renames the assistant alone.
      [1, 2, 3].map((pause) => ({ assistantId: "slow", input: { pause }, on_completion: "keep" })) as never,
    );
    expect(runs).toHaveLength(3);
    await Promise.all(runs.map((run) => server.client.runs.join(run.thread_id, run.run_id)));
  });
});

describe("bad input", () => {
  it.each([
    ["an unknown assistant", "nobody", {}, /404.*nobody/],
    ["a wrong type", "slow", { config: "text" }, /422.*config/],
    ["an unknown stream mode", "slow", { streamMode: "nonsense" }, /422.*stream_mode/],
  ])("%s", async (_name, assistant, payload, expected) => {
    const thread = await server.client.threads.create();
    await expect(server.client.runs.create(thread.thread_id, assistant, payload as never)).rejects.toThrow(
      expected,
    );
  });

  it("an unknown thread is 404", async () => {
    await expect(server.client.runs.create(randomUUID(), "slow", {})).rejects.toThrow(/404/);
    await expect(server.client.threads.getState(randomUUID())).rejects.toThrow(/404/);
  });

  it("an unknown checkpoint is 404", async () => {
    const thread = await server.client.threads.create();
    await server.client.runs.wait(thread.thread_id, "slow", { input: { pause: 1 } });
    await expect(server.client.threads.getState(thread.thread_id, randomUUID())).rejects.toThrow(/404/);
  });
});

describe("more runs than a process takes at once", () => {
  it("wait their turn and all end, whoever started them", async () => {
    const small = await startTestAgentServer(test.url, {
      runConcurrency: 2,
      graphs: new GraphRegistry(await testGraphs(["few"])),
    });
    try {
      const ends = await Promise.all(
        Array.from({ length: 12 }, () =>
          small.client.runs.wait(null, "few", { input: { pause: 20 } }).then(names),
        ),
      );
      expect(ends).toEqual(Array.from({ length: 12 }, () => ["one", "two", "three"]));
    } finally {
      await small.stop();
    }
  });
});

describe("load", () => {
  it("200 runs at once all end well", async () => {
    const { client } = server;
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        client.runs.wait(null, "slow", { input: { steps: [`n${index}`], pause: 1 } }).then(names),
      ),
    );
    results.forEach((steps, index) => {
      expect(steps).toEqual([`n${index}`, "one", "two", "three"]);
    });
  });
});
