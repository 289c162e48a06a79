import { type Journeys, newThread, refused, said, streamed, type Twin, waited } from "./twin.ts";

const history = ({ client }: Twin, threadId: string) => client.threads.getHistory(threadId, { limit: 100 });

const journeys: Journeys = {};

for (const graphId of ["echo", "tools", "mapped", "memory", "steps", "routed", "reporting"])
  journeys[`${graphId}: its answer, state and history`] = async (twin) => {
    const threadId = await newThread(twin);
    const inputs: Record<string, object> = { mapped: { items: [3, 4] }, routed: { way: "left" } };
    const input = inputs[graphId] ?? (graphId === "steps" || graphId === "memory" ? {} : said("hi", "first"));
    return {
      answer: await waited(twin, threadId, graphId, { input }),
      state: await twin.client.threads.getState(threadId),
      history: await history(twin, threadId),
      thread: await twin.client.threads.get(threadId),
    };
  };

for (const answer of [false, 0, "", null, "yes", { nested: [1, { a: null }] }, ["x"]])
  journeys[`the answer ${JSON.stringify(answer)} to an interrupt`] = async (twin) => {
    const threadId = await newThread(twin);
    const asked = await waited(twin, threadId, "approval", { input: { subject: "go" } });
    const waiting = await twin.client.threads.get(threadId);
    const answered = await streamed(twin, "approval", {
      threadId,
      command: { resume: answer },
      streamMode: ["updates", "values"],
    });
    return { asked, waiting, answered, history: await history(twin, threadId) };
  };

journeys["a node that asks twice"] = async (twin) => {
  const threadId = await newThread(twin);
  const first = await waited(twin, threadId, "approval", { input: { subject: "go" } });
  const second = await waited(twin, threadId, "approval", { command: { resume: "again" } });
  const state = await twin.client.threads.getState(threadId);
  const last = await waited(twin, threadId, "approval", { command: { resume: "yes" } });
  return { first, second, state, last, history: await history(twin, threadId) };
};

journeys["two questions answered one after the other, by their ids"] = async (twin) => {
  const threadId = await newThread(twin);
  const asked = await waited(twin, threadId, "questions", { input: { answers: [] } });
  const ids = (asked as { __interrupt__: { id: string }[] }).__interrupt__.map(({ id }) => id);
  const once = await waited(twin, threadId, "questions", { command: { resume: { [ids[1]!]: "b" } } });
  const state = await twin.client.threads.getState(threadId);
  const twice = await waited(twin, threadId, "questions", { command: { resume: { [ids[0]!]: "a" } } });
  return { asked, once, state, twice, history: await history(twin, threadId) };
};

journeys["two questions answered together"] = async (twin) => {
  const threadId = await newThread(twin);
  const asked = await waited(twin, threadId, "questions", { input: { answers: [] } });
  const ids = (asked as { __interrupt__: { id: string }[] }).__interrupt__.map(({ id }) => id);
  const resume = Object.fromEntries(ids.map((id, index) => [id, `answer ${index}`]));
  return { asked, answered: await waited(twin, threadId, "questions", { command: { resume } }) };
};

journeys["an answer with an update and a way"] = async (twin) => {
  const threadId = await newThread(twin);
  await waited(twin, threadId, "approval", { input: { subject: "go" } });
  const command = { resume: "yes", update: { subject: "stay" } };
  const answered = await waited(twin, threadId, "approval", { command });
  const other = await newThread(twin);
  await waited(twin, other, "steps", { input: {} });
  const goto = await waited(twin, other, "steps", { command: { goto: "third", update: { note: "moved" } } });
  const send = { goto: [{ node: "second", input: { note: "sent" } }] };
  const sent = await waited(twin, other, "steps", { command: send });
  return { answered, goto, sent };
};

journeys["stops before and after nodes, and goes on"] = async (twin) => {
  const threadId = await newThread(twin);
  const before = await waited(twin, threadId, "steps", { input: {}, interruptBefore: ["second"] });
  const state = await twin.client.threads.getState(threadId);
  const after = await waited(twin, threadId, "steps", { input: null, interruptAfter: ["second"] });
  const thread = await twin.client.threads.get(threadId);
  const all = await streamed(twin, "steps", { threadId, input: null, streamMode: ["updates"] });
  return { before, state, after, thread, all };
};

journeys["stops before every node"] = async (twin) =>
  streamed(twin, "steps", {
    threadId: await newThread(twin),
    input: {},
    interruptBefore: "*",
    streamMode: ["values", "updates", "tasks"],
  });

journeys["a subgraph's state, its own history, and its answer"] = async (twin) => {
  const threadId = await newThread(twin);
  const asked = await waited(twin, threadId, "nested", { input: { subject: "stay" } });
  const state = await twin.client.threads.getState(threadId, undefined, { subgraphs: true });
  const middle = state.tasks[0]!.state!;
  const inner = middle.tasks[0]!.state!;
  const address = { checkpoint_ns: inner.checkpoint!.checkpoint_ns } as never;
  const own = await twin.client.threads.getState(threadId, address);
  const past = await twin.client.threads.getHistory(threadId, { checkpoint: address });
  const answered = await waited(twin, threadId, "nested", { command: { resume: "ok" } });
  return { asked, state, own, past, answered, history: await history(twin, threadId) };
};

journeys["a subgraph's state is changed"] = async (twin) => {
  const threadId = await newThread(twin);
  await waited(twin, threadId, "nested", { input: { subject: "stay" } });
  const state = await twin.client.threads.getState(threadId, undefined, { subgraphs: true });
  const inner = state.tasks[0]!.state!.tasks[0]!.state!;
  const values = { subject: "leave" };
  const updated = await twin.client.threads.updateState(threadId, {
    values,
    checkpoint: { checkpoint_ns: inner.checkpoint!.checkpoint_ns } as never,
    asNode: "prepare",
  } as never);
  const answered = await waited(twin, threadId, "nested", { input: null });
  const now = await twin.client.threads.getState(threadId, undefined, { subgraphs: true });
  return { updated, answered, now };
};

journeys["the state is changed as a node"] = async (twin) => {
  const threadId = await newThread(twin);
  await waited(twin, threadId, "steps", { input: { note: "a" }, interruptBefore: ["second"] });
  const values = { note: "b", done: ["by hand"] };
  const updated = await twin.client.threads.updateState(threadId, { values, asNode: "second" });
  const state = await twin.client.threads.getState(threadId);
  const answer = await waited(twin, threadId, "steps", { input: null });
  await twin.client.threads.updateState(threadId, { values: { note: "c" } });
  await twin.client.threads.updateState(threadId, { values: null, asNode: "__end__" } as never);
  return { updated, state, answer, history: await history(twin, threadId) };
};

journeys["a change as a node that is not there"] = async (twin) => {
  const threadId = await newThread(twin);
  await waited(twin, threadId, "steps", { input: {} });
  return refused(twin.client.threads.updateState(threadId, { values: {}, asNode: "nobody" }));
};

journeys["forks from its history"] = async (twin) => {
  const threadId = await newThread(twin);
  await waited(twin, threadId, "echo", { input: said("one", "one") });
  await waited(twin, threadId, "echo", { input: said("two", "two") });
  const early = (await history(twin, threadId)).find(
    ({ values }) => (values as { messages?: unknown[] }).messages?.length === 2,
  )!;
  const { checkpoint } = early;
  const forked = await waited(twin, threadId, "echo", { input: said("other", "other"), checkpoint });
  const replayed = await waited(twin, threadId, "echo", { input: null, checkpoint });
  const at = await twin.client.threads.getState(threadId, checkpoint.checkpoint_id!);
  const updated = await twin.client.threads.updateState(threadId, {
    values: said("added", "added"),
    checkpoint,
    asNode: "echo",
  } as never);
  const past = await twin.client.threads.getHistory(threadId, { limit: 3, before: checkpoint as never });
  return { forked, replayed, at, updated, past, history: await history(twin, threadId) };
};

journeys["the history by metadata"] = async (twin) => {
  const threadId = await newThread(twin);
  await waited(twin, threadId, "steps", { input: {} });
  return {
    first: await twin.client.threads.getHistory(threadId, { metadata: { step: 1 } }),
    inputs: await twin.client.threads.getHistory(threadId, { metadata: { source: "input" } }),
  };
};

journeys["a thread is copied and filled"] = async (twin) => {
  const threadId = await newThread(twin);
  await waited(twin, threadId, "approval", { input: { subject: "go" } });
  const copy = await twin.client.threads.copy(threadId);
  const answered = await waited(twin, copy!.thread_id, "approval", { command: { resume: 1 } });
  const filled = await twin.client.threads.create({
    graphId: "steps",
    supersteps: [
      { updates: [{ values: { note: "n" }, asNode: "__input__" }] },
      { updates: [{ values: { note: "n" }, asNode: "__start__" }] },
      { updates: [{ values: { done: ["first"] }, asNode: "first" }] },
    ],
  });
  return {
    copied: await history(twin, copy!.thread_id),
    original: await twin.client.threads.getState(threadId),
    answered,
    filled: await history(twin, filled.thread_id),
    done: await waited(twin, filled.thread_id, "steps", { input: null }),
  };
};

for (const durability of ["sync", "async", "exit"] as const)
  for (const graphId of ["steps", "approval", "nested", "failing"])
    journeys[`${graphId} with durability ${durability}`] = async (twin) => {
      const threadId = await newThread(twin);
      const inputs: Record<string, object> = { steps: { note: "x" }, failing: {} };
      const input = inputs[graphId] ?? { subject: "go" };
      const events = await streamed(twin, graphId, { threadId, input, durability, streamMode: ["values"] });
      return { events, history: await history(twin, threadId) };
    };

journeys["a node that fails, and goes on when it is mended"] = async (twin) => {
  const threadId = await newThread(twin);
  const error = await refused(waited(twin, threadId, "failing", { input: {} }));
  const thread = await twin.client.threads.get(threadId);
  const state = await twin.client.threads.getState(threadId);
  await twin.client.threads.updateState(threadId, { values: { well: true }, asNode: "first" });
  const answer = await waited(twin, threadId, "failing", { input: null });
  return { error, thread, state, answer, history: await history(twin, threadId) };
};

journeys["a graph that takes too many steps"] = async (twin) => {
  const threadId = await newThread(twin);
  const error = await refused(waited(twin, threadId, "steps", { input: {}, config: { recursion_limit: 2 } }));
  return { error, state: await twin.client.threads.getState(threadId) };
};

journeys["no input for a new thread"] = async (twin) => {
  const threadId = await newThread(twin);
  return refused(waited(twin, threadId, "steps", { input: null }));
};

export const stateJourneys = journeys;
