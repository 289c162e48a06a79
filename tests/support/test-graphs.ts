import { setTimeout as delay } from "node:timers/promises";
import { Annotation, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { loadServerKit } from "../../src/agent-server/graphs/javascript/graph-kit.ts";
import {
  type CompiledGraph,
  fixedGraph,
  type LoadedGraph,
} from "../../src/agent-server/graphs/javascript/loaded-graph.ts";

const Steps = Annotation.Root({
  steps: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
  /** Milliseconds each step takes. */
  pause: Annotation<number>(),
});

/** Three steps, each as slow as asked; `pid` is the process that took it. */
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

/** Two steps of four parallel nodes each, which do not listen to their signal; what began and when is printed. */
function wide() {
  const graph = new StateGraph(Steps);
  const node =
    (name: string) =>
    async (state: typeof Steps.State, { signal }: { signal?: AbortSignal }) => {
      console.log(`began ${name} ${Date.now()}`);
      signal?.addEventListener("abort", () => console.log(`stopped ${name} ${Date.now()}`), { once: true });
      await delay(state.pause ?? 0);
      return { steps: [name] };
    };
  const letters = ["a", "b", "c", "d"];
  for (const letter of letters) {
    const [first, second] = [`${letter}1`, `${letter}2`];
    graph.addNode(first, node(first)).addNode(second, node(second));
  }
  const edges = graph as unknown as { addEdge(from: string | string[], to: string): void };
  for (const letter of letters) {
    edges.addEdge(START, `${letter}1`);
    edges.addEdge(
      letters.map((each) => `${each}1`),
      `${letter}2`,
    );
    edges.addEdge(`${letter}2`, END);
  }
  return graph.compile();
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

/** `few` and `only-here` are `slow` under names that only a server which asks for them takes from the queue. */
export async function testGraphs(names = usual): Promise<Map<string, LoadedGraph>> {
  const kit = await loadServerKit();
  const all: Record<string, unknown> = {
    few: slow(),
    "only-here": slow(),
    slow: slow(),
    wide: wide(),
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
