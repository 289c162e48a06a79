import { setTimeout as delay } from "node:timers/promises";
import { Annotation, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { loadServerKit } from "../../src/agent-server/graphs/graph-kit.ts";
import {
  type CompiledGraph,
  fixedGraph,
  type LoadedGraph,
} from "../../src/agent-server/graphs/loaded-graph.ts";

const Steps = Annotation.Root({
  steps: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
  /** Milliseconds each step takes. */
  pause: Annotation<number>(),
});

/** Three steps, each as slow as asked; `pid` tells which process took it. */
function slow() {
  const step = (name: string) => async (state: typeof Steps.State, config: { signal?: AbortSignal }) => {
    await delay(state.pause ?? 0, undefined, config.signal ? { signal: config.signal } : {});
    return { steps: [`${name}@${process.pid}`] };
  };
  return new StateGraph(Steps)
    .addNode("one", step("one"))
    .addNode("two", step("two"))
    .addNode("three", step("three"))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", "three")
    .addEdge("three", END)
    .compile();
}

function failing() {
  return new StateGraph(Steps)
    .addNode("first", () => ({ steps: ["first"] }))
    .addNode("second", () => {
      throw new RangeError("the second node always fails");
    })
    .addEdge(START, "first")
    .addEdge("first", "second")
    .addEdge("second", END)
    .compile();
}

/** A node that never comes back and does not listen to its signal. */
function endless() {
  return new StateGraph(Steps)
    .addNode("begin", () => ({ steps: ["begin"] }))
    .addNode("wait", () => new Promise<never>(() => undefined))
    .addEdge(START, "begin")
    .addEdge("begin", "wait")
    .addEdge("wait", END)
    .compile();
}

function asking() {
  return new StateGraph(Steps)
    .addNode("prepare", () => ({ steps: ["prepared"] }))
    .addNode("ask", () => {
      const answer = interrupt({ question: "go on?" });
      return { steps: [`answer: ${String(answer)}`] };
    })
    .addEdge(START, "prepare")
    .addEdge("prepare", "ask")
    .addEdge("ask", END)
    .compile();
}

function echo() {
  return new StateGraph(MessagesAnnotation)
    .addNode("echo", (state) => ({
      messages: [{ role: "ai", content: `echo ${String(state.messages.at(-1)?.content)}` }],
    }))
    .addEdge(START, "echo")
    .addEdge("echo", END)
    .compile();
}

const usual = ["slow", "failing", "endless", "asking", "echo"];

/** `few` is `slow` under a name that only the server which asks for it takes from the queue. */
export async function testGraphs(names = usual): Promise<Map<string, LoadedGraph>> {
  const kit = await loadServerKit();
  const all: Record<string, unknown> = {
    few: slow(),
    slow: slow(),
    failing: failing(),
    endless: endless(),
    asking: asking(),
    echo: echo(),
  };
  return new Map(
    names.map((graphId) => [
      graphId,
      fixedGraph(
        { graphId, description: undefined, file: undefined, exportName: graphId },
        all[graphId] as CompiledGraph,
        kit,
      ),
    ]),
  );
}
