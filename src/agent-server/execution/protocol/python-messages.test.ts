import { expect, it } from "vitest";
import { toPart } from "../../graphs/python/graph-part.ts";
import { MessageEvents } from "./message-events.ts";
import { ProtocolEventMapper } from "./protocol-events.ts";

const incoming = (meta: Record<string, unknown>, ...texts: unknown[]) => ({
  meta,
  segments: texts.map((text) => Buffer.from(JSON.stringify(text))),
});

const chunkOf = (form: string, message: unknown) => {
  const meta = { events: [], at: [], mode: "messages", ns: [], chunk: 1, message: form };
  const { chunk } = toPart(incoming(meta, [message, { langgraph_node: "talk" }]), true);
  return chunk.kind === "chunk" ? chunk.payload : undefined;
};

it("gives the same text for two events once", () => {
  const meta = { events: [["values", ""]], at: [1], mode: "values", ns: [], chunk: 1, invites: true };
  const part = toPart(incoming(meta, { a: 1 }), true);
  expect(part).toEqual({
    events: [{ name: "values", namespace: "", data: '{"a":1}' }],
    invites: true,
    chunk: { kind: "chunk", namespace: [], mode: "values", payload: { a: 1 } },
  });
});

it("lets the protocol make content blocks of messages in pieces", () => {
  const events = new MessageEvents(() => 0);
  const piece = (content: string) => chunkOf("piece", { type: "ai", id: "m", content });
  const kinds = [
    ...events.map([], piece("one ")),
    ...events.map([], piece("two")),
    ...events.finishUnder(""),
  ].map(({ params }) => params.data.event);
  expect(kinds).toEqual([
    "message-start",
    "content-block-start",
    "content-block-delta",
    "content-block-delta",
    "content-block-finish",
    "message-finish",
  ]);
});

it("lets the protocol finish a message that comes whole", () => {
  const whole = { type: "ai", id: "m", content: "", tool_calls: [{ id: "c", name: "add", args: { a: 1 } }] };
  const events = new MessageEvents(() => 0).map([], chunkOf("whole", whole));
  expect(events.at(-1)?.params.data).toEqual({ event: "message-finish", run_id: "m" });
  expect(events.map(({ params }) => params.data)).toContainEqual({
    event: "content-block-finish",
    index: 0,
    content: { type: "tool_call", id: "c", name: "add", args: { a: 1 } },
    run_id: "m",
  });
});

it("tells messages apart that nodes speak at once, and ends each with its task", () => {
  const events = new MessageEvents(() => 0);
  const piece = (id: string, task: string) => {
    const [message] = chunkOf("piece", { type: "ai", id, content: "x" }) as [unknown, unknown];
    return [message, { langgraph_node: "talk", run_id: "the-run", langgraph_checkpoint_ns: task }];
  };
  const spoken = [
    ...events.map([], piece("lc_run--one", "talk:1")),
    ...events.map([], piece("lc_run--two", "talk:2")),
  ];
  expect(new Set(spoken.map(({ params }) => params.data.run_id))).toEqual(new Set(["one", "two"]));
  expect(events.finishUnder("talk:1").map(({ params }) => params.data)).toEqual([
    { event: "content-block-finish", index: 0, content: { type: "text", text: "x" }, run_id: "one" },
    { event: "message-finish", run_id: "one" },
  ]);
});

it("tells a message that no model said in the namespace of its node, and begins none for it", () => {
  const mapper = new ProtocolEventMapper("agent", () => 0);
  const told = (metadata: object) => {
    const [message] = chunkOf("whole", { type: "ai", id: String(Math.random()), content: "x" }) as [unknown];
    const about = { langgraph_checkpoint_ns: "outer:1|talk:2", ...metadata };
    const chunk = {
      kind: "chunk",
      namespace: ["outer:1"],
      mode: "messages",
      payload: [message, about],
    } as const;
    return mapper.map(chunk).map(({ method, params }) => `${method} ${params.namespace.join("|")}`);
  };
  expect(new Set(told({}))).toEqual(new Set(["lifecycle outer:1", "messages outer:1|talk:2"]));
  expect(new Set(told({ ls_model_type: "chat" }))).toEqual(new Set(["messages outer:1"]));
});
