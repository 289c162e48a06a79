import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { checkOrder, isTerminal } from "../support/protocol-events.ts";
import { lastValues, protocolServer, say, statusesIn } from "../support/protocol-fixture.ts";

const protocol = protocolServer();

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

describe("envelopes", () => {
  const post = (path: string, body: string) =>
    fetch(`${protocol.server().url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });

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

  it("400 for what is nested deeper than any other body may be, and 200 for what is not", async () => {
    const start = (levels: number) =>
      post(
        `/threads/${randomUUID()}/commands`,
        `{"id":1,"method":"run.start","params":{"assistant_id":"echo","input":{"x":${nested(levels)}}}}`,
      );
    const refused = await start(600);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: "invalid_argument",
      message: expect.stringContaining("512 levels"),
    });
    expect((await start(30_000)).status).toBe(400);
    expect((await start(400)).status).toBe(200);
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
    ["run.start", { assistant_id: 5, input: {} }, "invalid_argument"],
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
    expect(await protocol.command(randomUUID(), method, params)).toMatchObject({
      type: "error",
      id: 7,
      error,
    });
  });
});

describe("run.start", () => {
  it.each([
    ["no assistant", {}],
    ["null", { assistant_id: null }],
    // What `useStream` sends when it was given none.
    ["_", { assistant_id: "_" }],
  ])("runs the graph `agent` for %s", async (_name, named) => {
    const threadId = randomUUID();
    const started = await protocol.command(threadId, "run.start", {
      ...named,
      input: say("Calculate 6 * 7"),
    });
    expect(started).toMatchObject({ type: "success" });
    await protocol.eventsOf(threadId);
    const { client } = protocol.server();
    expect((await client.runs.list(threadId)).map(({ assistant_id }) => assistant_id)).toEqual([
      (await client.assistants.get("agent")).assistant_id,
    ]);
    // A message that waits for its turn comes over REST, by the same name.
    expect(await client.runs.wait(threadId, "_", { input: say("Calculate 5 * 5") })).toMatchObject({
      messages: expect.any(Array),
    });
  });

  it("runs any assistant on the same thread", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "echo", say("one"));
    await protocol.eventsOf(threadId);
    expect(await protocol.start(threadId, "agent", say("hello"))).toMatchObject({ type: "success" });
    const events = await protocol.eventsOf(threadId, 2);
    const names = events.flatMap((event) =>
      event.method === "lifecycle" && event.params.namespace.length === 0
        ? [event.params.data.graph_name]
        : [],
    );
    expect(names).toEqual(["echo", "echo", "agent", "agent"]);
  });

  it("enqueues by default and with enqueue", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "slow", { pause: 60 });
    await protocol.start(threadId, "slow", { pause: 0 });
    await protocol.start(threadId, "slow", { pause: 0 }, { multitaskStrategy: "enqueue" });
    const events = await protocol.eventsOf(threadId, 3);
    checkOrder(events);
    expect(statusesIn(events)).toEqual([
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
    await protocol.start(threadId, "slow", { pause: 100 });
    expect(await protocol.start(threadId, "slow", {}, { multitaskStrategy: "reject" })).toMatchObject({
      type: "error",
      error: "invalid_argument",
      message: expect.stringContaining("already running"),
    });
    await protocol.eventsOf(threadId);
  });

  it("interrupts what runs and keeps its progress", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "slow", { pause: 200 });
    await protocol.eventsUntil(threadId, (events) => events.some((event) => event.method === "updates"));
    await protocol.start(threadId, "slow", { pause: 0 }, { multitaskStrategy: "interrupt" });
    const events = await protocol.eventsOf(threadId, 2);
    expect(statusesIn(events)).toEqual(["running", "interrupted", "running", "completed"]);
    const { values } = (await protocol.command(threadId, "state.get", { namespace: [] })).result as {
      values: { steps: string[] };
    };
    expect(values.steps.map((step) => step.split("@")[0])).toEqual(["one", "one", "two", "three"]);
  });

  it("rolls back what runs, and numbers stay unique for those who heard it", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "slow", { pause: 200 });
    const before = await protocol.eventsUntil(threadId, (events) =>
      events.some((event) => event.method === "updates"),
    );
    await protocol.start(threadId, "slow", { pause: 0 }, { multitaskStrategy: "rollback" });
    const after = await protocol.eventsUntil(threadId, (events) => statusesIn(events).includes("completed"));
    expect(statusesIn(after)).toEqual(["interrupted", "running", "completed"]);
    const heard = new Set(before.map((event) => event.event_id));
    expect(after.filter((event) => heard.has(event.event_id))).toEqual([]);
    expect(after[0]!.seq).toBeGreaterThan(before.at(-1)!.seq);
    const { values } = (await protocol.command(threadId, "state.get", { namespace: [] })).result as {
      values: { steps: string[] };
    };
    expect(values.steps).toHaveLength(3);
  });

  it("forks from a checkpoint named in the config", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "echo", say("one"));
    await protocol.eventsOf(threadId);
    await protocol.start(threadId, "echo", say("two"));
    const events = await protocol.eventsOf(threadId, 2);
    const afterFirst = events.findLast(
      (event, index) => event.method === "checkpoints" && index < events.findIndex(isTerminal),
    )!;
    const checkpointId = (afterFirst.params.data as { id: string }).id;
    await protocol.start(threadId, "echo", say("three"), {
      config: { configurable: { checkpoint_id: checkpointId } },
    });
    await protocol.eventsOf(threadId, 3);
    const state = await protocol
      .server()
      .client.threads.getState<{ messages: { content: string }[] }>(threadId);
    expect(state.values.messages.map((message) => message.content)).toEqual([
      "one",
      "echo one",
      "three",
      "echo three",
    ]);
  });

  it("refuses to fork from a checkpoint that is not there", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "echo", say("one"));
    await protocol.eventsOf(threadId);
    for (const id of [randomUUID(), "not-an-id"]) {
      const config = { configurable: { checkpoint_id: id } };
      expect(await protocol.start(threadId, "echo", say("x"), { config })).toMatchObject({
        error: "no_such_checkpoint",
      });
    }
  });

  it("takes the input as the answer while an interrupt is pending", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "asking", {});
    await protocol.eventsOf(threadId);
    await protocol.start(threadId, "asking", "with pleasure");
    const events = await protocol.eventsOf(threadId, 2);
    expect(statusesIn(events)).toEqual(["running", "interrupted", "running", "completed"]);
    expect(lastValues(events)).toMatchObject({
      steps: ["prepared", "answer: with pleasure"],
    });
  });

  it("takes it as input again after a run that was cancelled", async () => {
    const threadId = randomUUID();
    const { result } = await protocol.start(threadId, "slow", { pause: 5_000 });
    await protocol.eventsUntil(threadId, (events) => statusesIn(events).includes("running"));
    await protocol.server().client.runs.cancel(threadId, result!.run_id as string, true, "interrupt");
    await protocol.start(threadId, "slow", { pause: 0 });
    const events = await protocol.eventsOf(threadId, 2);
    expect(statusesIn(events)).toEqual(["running", "interrupted", "running", "completed"]);
  });

  it("accepts the fields of a run over REST", async () => {
    const threadId = randomUUID();
    await protocol.start(
      threadId,
      "slow",
      { pause: 0 },
      { interrupt_before: ["two"], metadata: { team: "red" }, context: {} },
    );
    const events = await protocol.eventsOf(threadId);
    expect(statusesIn(events)).toEqual(["running", "interrupted"]);
    const [run] = await protocol.server().client.runs.list(threadId);
    expect(run!.metadata).toMatchObject({ team: "red" });
    await protocol.start(threadId, "slow", null);
    expect(statusesIn(await protocol.eventsOf(threadId, 2)).at(-1)).toBe("completed");
  });
});
