import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { checkOrder, isTerminal } from "../support/protocol-events.ts";
import { lastValues, protocolServer, requestsIn, say, statusesIn } from "../support/protocol-fixture.ts";

const protocol = protocolServer();

describe("input.respond", () => {
  it("asks once per run and goes on with the answer, also after a restart", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "asking", {});
    const [asked, ...more] = requestsIn(await protocol.eventsOf(threadId));
    expect(more).toEqual([]);
    await protocol.restart();
    const { interrupt_id, payload } = asked!.params.data;
    expect(payload).toEqual({ question: "go on?" });
    expect(
      await protocol.command(threadId, "input.respond", { namespace: [], interrupt_id, response: "yes" }),
    ).toMatchObject({ type: "success", result: {} });
    const events = await protocol.eventsOf(threadId, 2);
    checkOrder(events);
    expect(lastValues(events)).toMatchObject({
      steps: ["prepared", "answer: yes"],
    });
    expect(
      await protocol.command(threadId, "input.respond", { namespace: [], interrupt_id, response: "again" }),
    ).toMatchObject({ error: "no_such_interrupt" });
  });

  it("answers several at once, and one alone leaves the other pending", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "asking-twice", {});
    const asked = requestsIn(await protocol.eventsOf(threadId));
    expect(asked.map((event) => (event.params.data.payload as { question: string }).question).sort()).toEqual(
      ["left", "right"],
    );
    expect(await protocol.start(threadId, "asking-twice", "both")).toMatchObject({
      error: "invalid_argument",
    });
    const responses = asked.map((event, index) => ({
      namespace: event.params.namespace,
      interrupt_id: event.params.data.interrupt_id,
      response: `answer ${index}`,
    }));
    await protocol.command(threadId, "input.respond", { responses: [responses[0]] });
    expect(statusesIn(await protocol.eventsOf(threadId, 2)).at(-1)).toBe("interrupted");
    await protocol.command(threadId, "input.respond", { responses: [responses[1]] });
    const events = await protocol.eventsOf(threadId, 3);
    expect(statusesIn(events).at(-1)).toBe("completed");

    const other = randomUUID();
    await protocol.start(other, "asking-twice", {});
    const both = requestsIn(await protocol.eventsOf(other)).map((event) => ({
      namespace: event.params.namespace,
      interrupt_id: event.params.data.interrupt_id,
      response: false,
    }));
    await protocol.command(other, "input.respond", { responses: both });
    const last = lastValues(await protocol.eventsOf(other, 2));
    expect((last as { answers: string[] }).answers.toSorted()).toEqual(["left: false", "right: false"]);
  });

  it("reaches a graph within the graph", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "asking-below", {});
    const asked = requestsIn(await protocol.eventsOf(threadId));
    expect(asked).toHaveLength(1);
    await protocol.command(threadId, "input.respond", {
      namespace: asked[0]!.params.namespace,
      interrupt_id: asked[0]!.params.data.interrupt_id,
      response: "deep",
    });
    const events = await protocol.eventsOf(threadId, 2);
    expect(lastValues(events)).toEqual({
      answers: ["inner: deep"],
    });
  });

  it("applies an update in the same step", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "asking", {});
    const [asked] = requestsIn(await protocol.eventsOf(threadId));
    await protocol.command(threadId, "input.respond", {
      namespace: [],
      interrupt_id: asked!.params.data.interrupt_id,
      response: "yes",
      update: { steps: ["patched"] },
    });
    const last = lastValues(await protocol.eventsOf(threadId, 2));
    expect((last as { steps: string[] }).steps.toSorted()).toEqual(["answer: yes", "patched", "prepared"]);
  });

  it("takes one of two answers that come at once", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "asking", {});
    const [asked] = requestsIn(await protocol.eventsOf(threadId));
    const answer = { namespace: [], interrupt_id: asked!.params.data.interrupt_id, response: "yes" };
    const both = await Promise.all([
      protocol.command(threadId, "input.respond", answer),
      protocol.command(threadId, "input.respond", answer),
    ]);
    expect(both.map(({ type }) => type).toSorted()).toEqual(["error", "success"]);
    expect(both).toContainEqual(expect.objectContaining({ error: "no_such_interrupt" }));
    expect(lastValues(await protocol.eventsOf(threadId, 2))).toMatchObject({
      steps: ["prepared", "answer: yes"],
    });
  });

  it("jumps where it is told to", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "asking", {});
    const [asked] = requestsIn(await protocol.eventsOf(threadId));
    await protocol.command(threadId, "input.respond", {
      namespace: [],
      interrupt_id: asked!.params.data.interrupt_id,
      response: "yes",
      goto: ["prepare"],
    });
    const events = await protocol.eventsOf(threadId, 2);
    const nodes = events.flatMap((event) => (event.method === "updates" ? [event.params.node] : []));
    expect(nodes.filter((node) => node === "prepare")).toHaveLength(2);
  });

  it("knows an interrupt that is not pending", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "asking", {});
    await protocol.eventsOf(threadId);
    expect(
      await protocol.command(threadId, "input.respond", {
        namespace: [],
        interrupt_id: "0".repeat(32),
        response: 1,
      }),
    ).toMatchObject({ error: "no_such_interrupt" });
  });
});

describe("the other commands", () => {
  it("input.inject runs with the message after what runs now", async () => {
    const threadId = randomUUID();
    const config = { configurable: { token_delay_ms: 2 } };
    await protocol.start(threadId, "agent", say("hello"), { config });
    const message = { role: "user", content: "thanks" };
    expect(await protocol.command(threadId, "input.inject", { namespace: [], message })).toMatchObject({
      type: "success",
    });
    await protocol.eventsOf(threadId, 2);
    const { values } = (await protocol.command(threadId, "state.get", { namespace: [], keys: ["messages"] }))
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
    await protocol.start(threadId, "slow", { pause: 0 });
    await protocol.eventsOf(threadId);
    const state = await protocol.command(threadId, "state.get", { namespace: [], keys: ["steps", "absent"] });
    expect(state.result).toMatchObject({
      values: { steps: [expect.stringContaining("one"), "", ""].map(() => expect.any(String)) },
    });
    expect(Object.keys(state.result!.values as object)).toEqual(["steps"]);
    const listed = await protocol.command(threadId, "state.listCheckpoints", { limit: 3 });
    const { checkpoints } = listed.result as {
      checkpoints: { id: string; step: number; timestamp: string }[];
    };
    expect(checkpoints.map(({ step }) => step)).toEqual([3, 2, 1]);
    expect((state.result!.checkpoint as { id: string }).id).toBe(checkpoints[0]!.id);
    const earlier = await protocol.command(threadId, "state.listCheckpoints", { before: checkpoints[2]!.id });
    expect((earlier.result!.checkpoints as { step: number }[]).map(({ step }) => step)).toEqual([0, -1]);
    const forked = await protocol.command(threadId, "state.fork", { checkpoint_id: checkpoints[2]!.id });
    expect(forked.result).toEqual({ run_id: expect.any(String), thread_id: threadId });
    const events = await protocol.eventsOf(threadId, 2);
    const second = events.slice(events.findIndex(isTerminal) + 1);
    expect(second.flatMap((event) => (event.method === "updates" ? [event.params.node] : []))).toEqual([
      "two",
      "three",
    ]);
  });

  it("state.get looks into a namespace, and says when there is none", async () => {
    const threadId = randomUUID();
    await protocol.start(threadId, "asking-below", {});
    const [asked] = requestsIn(await protocol.eventsOf(threadId));
    const namespace = asked!.params.namespace.length > 0 ? asked!.params.namespace : undefined;
    expect(namespace).toBeDefined();
    expect((await protocol.command(threadId, "state.get", { namespace })).result).toMatchObject({
      checkpoint: { ns: namespace!.join("|") },
    });
    expect(await protocol.command(threadId, "state.get", { namespace: ["nowhere:1"] })).toMatchObject({
      error: "no_such_namespace",
    });
  });

  it("agent.getTree shows the run and what ran within it", async () => {
    const threadId = randomUUID();
    const { result } = await protocol.start(threadId, "agent", say("research agents"), {
      config: { configurable: { token_delay_ms: 0 } },
    });
    await protocol.eventsOf(threadId);
    const tree = (await protocol.command(threadId, "agent.getTree", { run_id: result!.run_id })).result!
      .tree as {
      children: { namespace: string[]; graph_name: string; status: string; children?: unknown[] }[];
    };
    expect(tree).toMatchObject({ namespace: [], status: "completed", graph_name: "agent" });
    const researcher = tree.children.find(({ graph_name }) => graph_name === "researcher");
    expect(researcher).toMatchObject({ status: "completed" });
    expect(researcher!.children).not.toHaveLength(0);
    expect(await protocol.command(threadId, "agent.getTree", { run_id: randomUUID() })).toMatchObject({
      error: "no_such_run",
    });
  });
});
