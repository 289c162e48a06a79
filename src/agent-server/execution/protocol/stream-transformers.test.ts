import { StreamChannel } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import type { GraphChunk } from "../../graphs/graph-runtime.ts";
import { ProtocolEventMapper } from "./protocol-events.ts";
import type { TransformerFactory } from "./stream-transformers.ts";

const values = (payload: unknown, ...namespace: string[]): GraphChunk => ({
  kind: "chunk",
  namespace,
  mode: "values",
  payload,
});
function mapper(...factories: TransformerFactory[]) {
  const events = new ProtocolEventMapper("agent", () => 5);
  events.attach(factories);
  return events;
}
const short = (events: ReturnType<ProtocolEventMapper["map"]>) =>
  events.map(({ method, params }) => [method, params.namespace.join("|"), params.data] as const);

describe("a transformer", () => {
  it("speaks on a named channel, in the namespace of what it heard", () => {
    const seen = StreamChannel.remote<number>("seen");
    const events = mapper(() => ({
      init: () => ({ seen, kept: StreamChannel.local() }),
      process(event) {
        seen.push((event.params.data as { n: number }).n);
        return true;
      },
    }));
    expect(short(events.map(values({ n: 1 }, "a:1")))).toEqual([
      ["lifecycle", "a:1", { event: "started", graph_name: "a" }],
      ["custom", "a:1", { name: "seen", payload: 1 }],
      ["values", "a:1", { n: 1 }],
    ]);
  });

  it("can drop an event, and say what caused a namespace", () => {
    const cause = { type: "toolCall", tool_call_id: "call" };
    let emit: ((namespace: string[]) => void) | undefined;
    const events = mapper(() => ({
      init: () => undefined,
      onRegister(emitter) {
        emit = (namespace) => {
          const params = { namespace, timestamp: 5, data: { event: "started", cause } };
          emitter.push(namespace, { type: "event", seq: 0, method: "lifecycle", params });
        };
      },
      process(event) {
        if (event.method === "values") emit!(["sub:1"]);
        return event.method !== "values";
      },
    }));
    expect(short(events.map(values({ n: 1 })))).toEqual([
      ["lifecycle", "sub:1", { event: "started", graph_name: "sub", cause }],
    ]);
  });

  it("has its final value sent at the end, but not after a failure", async () => {
    const make = () => {
      const { promise, resolve } = Promise.withResolvers<string>();
      return mapper(() => ({
        init: () => ({ summary: promise }),
        process: () => true,
        finalize: () => resolve("all"),
      }));
    };
    expect(short(await make().finish("completed"))).toEqual([
      ["custom", "", { name: "summary", payload: "all" }],
    ]);
    expect(await make().finish("failed", { error: "no" })).toEqual([]);
  });

  it("cannot keep a run from ending", async () => {
    const failures: unknown[] = [];
    const events = mapper(() => ({
      init: () => ({ broken: Promise.reject(new Error("no value")) }),
      process: () => true,
      finalize() {
        throw new Error("no end");
      },
    }));
    events.map(values({ n: 1 }, "a:1"));
    const sent = await events.finish("completed", { onTransformerFailure: (error) => failures.push(error) });
    expect(short(sent)).toEqual([["lifecycle", "a:1", { event: "completed", graph_name: "a" }]]);
    expect(failures.map(String)).toEqual(["Error: no end", "Error: no value"]);
  });
});
