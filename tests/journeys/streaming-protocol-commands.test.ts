import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GraphRegistry } from "../../src/agent-server/graphs/graph-registry.ts";
import { startTestAgentServer, type TestAgentServer } from "../support/agent-server.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { readEvents, sendCommand } from "../support/protocol-client.ts";
import { checkOrder, isTerminal, type WireEvent } from "../support/protocol-events.ts";
import { protocolGraphs } from "../support/protocol-graphs.ts";

let base: TestDatabase;
let server: TestAgentServer;

const startServer = async () =>
  startTestAgentServer(base.url, { graphs: new GraphRegistry(await protocolGraphs()) });
const say = (text: string) => ({ messages: [{ role: "user", content: text }] });
const ended =
  (times = 1) =>
  (events: WireEvent[]) =>
    events.filter(isTerminal).length >= times;
const command = (threadId: string, method: string, params?: unknown) =>
  sendCommand(server.url, threadId, method, params);
const start = (threadId: string, assistantId: string, input: unknown, more: object = {}) =>
  command(threadId, "run.start", { assistant_id: assistantId, input, ...more });
const eventsOf = (threadId: string, times = 1) => readEvents(server.url, threadId, ended(times));
const requests = (events: WireEvent[]) =>
  events.flatMap((event) => (event.method === "input.requested" ? [event] : []));
const statuses = (events: WireEvent[]) =>
  events.flatMap((event) =>
    event.method === "lifecycle" && event.params.namespace.length === 0 ? [event.params.data.event] : [],
  );

beforeAll(async () => {
  base = await createTestDatabase();
  server = await startServer();
});

afterAll(async () => {
  await server?.stop();
  await base?.drop();
});

describe("envelopes", () => {
  const post = (path: string, body: string) =>
    fetch(`${server.url}${path}`, { method: "POST", headers: { "content-type": "application/json" }, body });

  it.each([
    ["no object", "[]"],
    ["no method", '{"id":1}'],
    ["a negative id", '{"id":-1,"method":"run.start"}'],
    ["params that are a list", '{"id":3,"method":"run.start","params":[]}'],
    ["no JSON", "{"],
  ])("400 for %s", async (_name, body) => {
    const response = await post(`/threads/${randomUUID()}/commands`, body);
    expect(response.status).toBe(400);
  });

  it("400 names the command it refuses", async () => {
    const response = await post(
      `/threads/${randomUUID()}/commands`,
      '{"id":3,"method":"run.start","params":1}',
    );
    expect(await response.json()).toMatchObject({ type: "error", id: 3, error: "invalid_argument" });
  });

  it("422 for a thread id that is no UUID", async () => {
    expect((await post("/threads/mine/commands", '{"id":1,"method":"state.get"}')).status).toBe(422);
    expect((await post("/threads/mine/stream", '{"channels":["values"]}')).status).toBe(422);
  });

  it.each(['{"channels":[]}', '{"channels":["debug"]}', '{"channels":["values"],"depth":-1}', "{}"])(
    "422 for the filter %s",
    async (body) => {
      expect((await post(`/threads/${randomUUID()}/stream/events`, body)).status).toBe(422);
    },
  );

  it.each([
    ["no.such", {}, "unknown_command"],
    ["run.start", {}, "invalid_argument"],
    ["run.start", { assistant_id: "nobody", input: {} }, "invalid_argument"],
    ["run.start", { assistant_id: "echo", input: {}, multitaskStrategy: "maybe" }, "invalid_argument"],
    ["input.respond", { namespace: [], interrupt_id: "x", response: 1 }, "no_such_run"],
    ["input.respond", {}, "invalid_argument"],
    ["input.inject", { namespace: [], message: { role: "user", content: "x" } }, "no_such_run"],
    ["state.get", { namespace: [] }, "no_such_run"],
    ["state.fork", { checkpoint_id: randomUUID() }, "no_such_run"],
    ["agent.getTree", {}, "no_such_run"],
    ["subscription.subscribe", { channels: ["values"] }, "not_supported"],
  ])("%s %j answers an error, 200 all the same", async (method, params, error) => {
    expect(await command(randomUUID(), method, params)).toMatchObject({ type: "error", id: 7, error });
  });
});

describe("run.start", () => {
  it("runs any assistant on the same thread", async () => {
    const threadId = randomUUID();
    await start(threadId, "echo", say("one"));
    await eventsOf(threadId);
    expect(await start(threadId, "agent", say("hello"))).toMatchObject({ type: "success" });
    const events = await eventsOf(threadId, 2);
    const names = events.flatMap((event) =>
      event.method === "lifecycle" && event.params.namespace.length === 0
        ? [event.params.data.graph_name]
        : [],
    );
    expect(names).toEqual(["echo", "echo", "agent", "agent"]);
  });

  it("enqueues by default and with enqueue", async () => {
    const threadId = randomUUID();
    await start(threadId, "slow", { pause: 60 });
    await start(threadId, "slow", { pause: 0 });
    await start(threadId, "slow", { pause: 0 }, { multitaskStrategy: "enqueue" });
    const events = await eventsOf(threadId, 3);
    checkOrder(events);
    expect(statuses(events)).toEqual([
      "running",
      "completed",
      "running",
      "completed",
      "running",
      "completed",
    ]);
  });

  it("rejects while a run is active", async () => {
    const threadId = randomUUID();
    await start(threadId, "slow", { pause: 100 });
    expect(await start(threadId, "slow", {}, { multitaskStrategy: "reject" })).toMatchObject({
      type: "error",
      error: "invalid_argument",
      message: expect.stringContaining("already running"),
    });
    await eventsOf(threadId);
  });

  it("interrupts what runs and keeps its progress", async () => {
    const threadId = randomUUID();
    await start(threadId, "slow", { pause: 200 });
    await readEvents(server.url, threadId, (events) => events.some((event) => event.method === "updates"));
    await start(threadId, "slow", { pause: 0 }, { multitaskStrategy: "interrupt" });
    const events = await eventsOf(threadId, 2);
    expect(statuses(events)).toEqual(["running", "interrupted", "running", "completed"]);
    const { values } = (await command(threadId, "state.get", { namespace: [] })).result as {
      values: { steps: string[] };
    };
    expect(values.steps.map((step) => step.split("@")[0])).toEqual(["one", "one", "two", "three"]);
  });

  it("rolls back what runs, and numbers stay unique for those who heard it", async () => {
    const threadId = randomUUID();
    await start(threadId, "slow", { pause: 200 });
    const before = await readEvents(server.url, threadId, (events) =>
      events.some((event) => event.method === "updates"),
    );
    await start(threadId, "slow", { pause: 0 }, { multitaskStrategy: "rollback" });
    const after = await readEvents(server.url, threadId, (events) => statuses(events).includes("completed"));
    expect(statuses(after)).toEqual(["interrupted", "running", "completed"]);
    const heard = new Set(before.map((event) => event.event_id));
    expect(after.filter((event) => heard.has(event.event_id))).toEqual([]);
    expect(after[0]!.seq).toBeGreaterThan(before.at(-1)!.seq);
    const { values } = (await command(threadId, "state.get", { namespace: [] })).result as {
      values: { steps: string[] };
    };
    expect(values.steps).toHaveLength(3);
  });

  it("forks from a checkpoint named in the config", async () => {
    const threadId = randomUUID();
    await start(threadId, "echo", say("one"));
    await eventsOf(threadId);
    await start(threadId, "echo", say("two"));
    const events = await eventsOf(threadId, 2);
    const afterFirst = events.findLast(
      (event, index) => event.method === "checkpoints" && index < events.findIndex(isTerminal),
    )!;
    const checkpointId = (afterFirst.params.data as { id: string }).id;
    await start(threadId, "echo", say("three"), {
      config: { configurable: { checkpoint_id: checkpointId } },
    });
    await eventsOf(threadId, 3);
    const state = await server.client.threads.getState<{ messages: { content: string }[] }>(threadId);
    expect(state.values.messages.map((message) => message.content)).toEqual([
      "one",
      "echo one",
      "three",
      "echo three",
    ]);
  });

  it("refuses to fork from a checkpoint that is not there", async () => {
    const threadId = randomUUID();
    await start(threadId, "echo", say("one"));
    await eventsOf(threadId);
    for (const id of [randomUUID(), "not-an-id"]) {
      const config = { configurable: { checkpoint_id: id } };
      expect(await start(threadId, "echo", say("x"), { config })).toMatchObject({
        error: "no_such_checkpoint",
      });
    }
  });

  it("takes the input as the answer while an interrupt is pending", async () => {
    const threadId = randomUUID();
    await start(threadId, "asking", {});
    await eventsOf(threadId);
    await start(threadId, "asking", "with pleasure");
    const events = await eventsOf(threadId, 2);
    expect(statuses(events)).toEqual(["running", "interrupted", "running", "completed"]);
    expect(events.findLast((event) => event.method === "values")!.params.data).toMatchObject({
      steps: ["prepared", "answer: with pleasure"],
    });
  });

  it("takes it as input again after a run that was cancelled", async () => {
    const threadId = randomUUID();
    const { result } = await start(threadId, "slow", { pause: 5_000 });
    await readEvents(server.url, threadId, (events) => statuses(events).includes("running"));
    await server.client.runs.cancel(threadId, result!.run_id as string, true, "interrupt");
    await start(threadId, "slow", { pause: 0 });
    const events = await eventsOf(threadId, 2);
    expect(statuses(events)).toEqual(["running", "interrupted", "running", "completed"]);
  });

  it("accepts the fields of a run over REST", async () => {
    const threadId = randomUUID();
    await start(
      threadId,
      "slow",
      { pause: 0 },
      { interrupt_before: ["two"], metadata: { team: "red" }, context: {} },
    );
    const events = await eventsOf(threadId);
    expect(statuses(events)).toEqual(["running", "interrupted"]);
    const [run] = await server.client.runs.list(threadId);
    expect(run!.metadata).toMatchObject({ team: "red" });
    await start(threadId, "slow", null);
    expect(statuses(await eventsOf(threadId, 2)).at(-1)).toBe("completed");
  });
});

describe("input.respond", () => {
  it("asks once per run and goes on with the answer, also after a restart", async () => {
    const threadId = randomUUID();
    await start(threadId, "asking", {});
    const [asked, ...more] = requests(await eventsOf(threadId));
    expect(more).toEqual([]);
    await server.stop();
    server = await startServer();
    const { interrupt_id, payload } = asked!.params.data;
    expect(payload).toEqual({ question: "go on?" });
    expect(
      await command(threadId, "input.respond", { namespace: [], interrupt_id, response: "yes" }),
    ).toMatchObject({ type: "success", result: {} });
    const events = await eventsOf(threadId, 2);
    checkOrder(events);
    expect(events.findLast((event) => event.method === "values")!.params.data).toMatchObject({
      steps: ["prepared", "answer: yes"],
    });
    expect(
      await command(threadId, "input.respond", { namespace: [], interrupt_id, response: "again" }),
    ).toMatchObject({ error: "invalid_argument" });
  });

  it("answers several at once, and one alone leaves the other pending", async () => {
    const threadId = randomUUID();
    await start(threadId, "asking-twice", {});
    const asked = requests(await eventsOf(threadId));
    expect(asked.map((event) => (event.params.data.payload as { question: string }).question).sort()).toEqual(
      ["left", "right"],
    );
    expect(await start(threadId, "asking-twice", "both")).toMatchObject({ error: "invalid_argument" });
    const responses = asked.map((event, index) => ({
      namespace: event.params.namespace,
      interrupt_id: event.params.data.interrupt_id,
      response: `answer ${index}`,
    }));
    await command(threadId, "input.respond", { responses: [responses[0]] });
    expect(statuses(await eventsOf(threadId, 2)).at(-1)).toBe("interrupted");
    await command(threadId, "input.respond", { responses: [responses[1]] });
    const events = await eventsOf(threadId, 3);
    expect(statuses(events).at(-1)).toBe("completed");

    const other = randomUUID();
    await start(other, "asking-twice", {});
    const both = requests(await eventsOf(other)).map((event) => ({
      namespace: event.params.namespace,
      interrupt_id: event.params.data.interrupt_id,
      response: false,
    }));
    await command(other, "input.respond", { responses: both });
    const last = (await eventsOf(other, 2)).findLast((event) => event.method === "values")!;
    expect((last.params.data as { answers: string[] }).answers.toSorted()).toEqual([
      "left: false",
      "right: false",
    ]);
  });

  it("reaches a graph within the graph", async () => {
    const threadId = randomUUID();
    await start(threadId, "asking-below", {});
    const asked = requests(await eventsOf(threadId));
    expect(asked).toHaveLength(1);
    await command(threadId, "input.respond", {
      namespace: asked[0]!.params.namespace,
      interrupt_id: asked[0]!.params.data.interrupt_id,
      response: "deep",
    });
    const events = await eventsOf(threadId, 2);
    expect(events.findLast((event) => event.method === "values")!.params.data).toEqual({
      answers: ["inner: deep"],
    });
  });

  it("applies an update in the same step", async () => {
    const threadId = randomUUID();
    await start(threadId, "asking", {});
    const [asked] = requests(await eventsOf(threadId));
    await command(threadId, "input.respond", {
      namespace: [],
      interrupt_id: asked!.params.data.interrupt_id,
      response: "yes",
      update: { steps: ["patched"] },
    });
    const last = (await eventsOf(threadId, 2)).findLast((event) => event.method === "values")!;
    expect((last.params.data as { steps: string[] }).steps.toSorted()).toEqual([
      "answer: yes",
      "patched",
      "prepared",
    ]);
  });

  it("knows an interrupt that is not pending", async () => {
    const threadId = randomUUID();
    await start(threadId, "asking", {});
    await eventsOf(threadId);
    expect(
      await command(threadId, "input.respond", { namespace: [], interrupt_id: "0".repeat(32), response: 1 }),
    ).toMatchObject({ error: "no_such_interrupt" });
  });
});

describe("the other commands", () => {
  it("input.inject runs with the message after what runs now", async () => {
    const threadId = randomUUID();
    const config = { configurable: { token_delay_ms: 2 } };
    await start(threadId, "agent", say("hello"), { config });
    const message = { role: "user", content: "thanks" };
    expect(await command(threadId, "input.inject", { namespace: [], message })).toMatchObject({
      type: "success",
    });
    await eventsOf(threadId, 2);
    const { values } = (await command(threadId, "state.get", { namespace: [], keys: ["messages"] }))
      .result as {
      values: { messages: { content: string }[] };
    };
    expect(values.messages.map(({ content }) => content)).toEqual([
      "hello",
      expect.stringContaining("Hello!"),
      "thanks",
      expect.stringContaining("You are welcome"),
    ]);
  });

  it("state.get, state.listCheckpoints and state.fork travel in time", async () => {
    const threadId = randomUUID();
    await start(threadId, "slow", { pause: 0 });
    await eventsOf(threadId);
    const state = await command(threadId, "state.get", { namespace: [], keys: ["steps", "absent"] });
    expect(state.result).toMatchObject({
      values: { steps: [expect.stringContaining("one"), "", ""].map(() => expect.any(String)) },
    });
    expect(Object.keys(state.result!.values as object)).toEqual(["steps"]);
    const listed = await command(threadId, "state.listCheckpoints", { limit: 3 });
    const { checkpoints } = listed.result as {
      checkpoints: { id: string; step: number; timestamp: string }[];
    };
    expect(checkpoints.map(({ step }) => step)).toEqual([3, 2, 1]);
    expect((state.result!.checkpoint as { id: string }).id).toBe(checkpoints[0]!.id);
    const earlier = await command(threadId, "state.listCheckpoints", { before: checkpoints[2]!.id });
    expect((earlier.result!.checkpoints as { step: number }[]).map(({ step }) => step)).toEqual([0, -1]);
    const forked = await command(threadId, "state.fork", { checkpoint_id: checkpoints[2]!.id });
    expect(forked.result).toEqual({ run_id: expect.any(String), thread_id: threadId });
    const events = await eventsOf(threadId, 2);
    const second = events.slice(events.findIndex(isTerminal) + 1);
    expect(second.flatMap((event) => (event.method === "updates" ? [event.params.node] : []))).toEqual([
      "two",
      "three",
    ]);
  });

  it("state.get looks into a namespace, and says when there is none", async () => {
    const threadId = randomUUID();
    await start(threadId, "asking-below", {});
    const [asked] = requests(await eventsOf(threadId));
    const namespace = asked!.params.namespace.length > 0 ? asked!.params.namespace : undefined;
    expect(namespace).toBeDefined();
    expect((await command(threadId, "state.get", { namespace })).result).toMatchObject({
      checkpoint: { ns: namespace!.join("|") },
    });
    expect(await command(threadId, "state.get", { namespace: ["nowhere:1"] })).toMatchObject({
      error: "no_such_namespace",
    });
  });

  it("agent.getTree shows the run and what ran within it", async () => {
    const threadId = randomUUID();
    const { result } = await start(threadId, "agent", say("research agents"), {
      config: { configurable: { token_delay_ms: 0 } },
    });
    await eventsOf(threadId);
    const tree = (await command(threadId, "agent.getTree", { run_id: result!.run_id })).result!.tree as {
      children: { namespace: string[]; graph_name: string; status: string; children?: unknown[] }[];
    };
    expect(tree).toMatchObject({ namespace: [], status: "completed", graph_name: "agent" });
    const researcher = tree.children.find(({ graph_name }) => graph_name === "researcher");
    expect(researcher).toMatchObject({ status: "completed" });
    expect(researcher!.children).not.toHaveLength(0);
    expect(await command(threadId, "agent.getTree", { run_id: randomUUID() })).toMatchObject({
      error: "no_such_run",
    });
  });
});
