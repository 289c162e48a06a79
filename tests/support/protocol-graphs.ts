import { AIMessage } from "@langchain/core/messages";
import {
  Annotation,
  END,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesAnnotation,
  START,
  StateGraph,
  StreamChannel,
} from "@langchain/langgraph";
import {
  type CompiledGraph,
  fixedGraph,
  type LoadedGraph,
} from "../../src/agent-server/graphs/javascript/loaded-graph.ts";
import { loadServerGraphs } from "../../src/agent-server/graphs/javascript/server-graphs.ts";
import { builtinGraphs } from "../../src/builtin-graphs/builtin-graphs.ts";
import { testGraphs } from "./test-graphs.ts";

const Answers = Annotation.Root({
  answers: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
});

/** Two questions at once. */
function askingTwice() {
  const ask = (name: string) => () => ({ answers: [`${name}: ${String(interrupt({ question: name }))}`] });
  return new StateGraph(Answers)
    .addNode("left", ask("left"))
    .addNode("right", ask("right"))
    .addEdge(START, "left")
    .addEdge(START, "right")
    .addEdge("left", END)
    .addEdge("right", END)
    .compile();
}

/** The question comes from a graph within the graph. */
function askingBelow() {
  const inner = new StateGraph(Answers)
    .addNode("ask", () => ({ answers: [`inner: ${String(interrupt("inner?"))}`] }))
    .addEdge(START, "ask")
    .addEdge("ask", END)
    .compile();
  return new StateGraph(Answers)
    .addNode("below", inner)
    .addEdge(START, "below")
    .addEdge("below", END)
    .compile();
}

/** Custom events, with a name and without. */
function reporting() {
  return new StateGraph(MessagesAnnotation)
    .addNode("report", (_state, config: LangGraphRunnableConfig) => {
      config.writer?.({ name: "progress", payload: { percent: 50 } });
      config.writer?.({ name: "note", text: "half" });
      config.writer?.("plain");
      return { messages: [new AIMessage({ id: "report-1", content: "reported" })] };
    })
    .addEdge(START, "report")
    .addEdge("report", END)
    .compile();
}

/** Its author attached a transformer: a named channel, a final value, and a mode that reaches nobody. */
function counting() {
  const transformer = () => {
    const steps = StreamChannel.remote<{ node: string }>("steps");
    const { promise: total, resolve } = Promise.withResolvers<number>();
    let count = 0;
    return {
      init: () => ({ steps, total }),
      process(event: { method: string; params: { node?: string } }) {
        if (event.method === "updates" && event.params.node) {
          count += 1;
          steps.push({ node: event.params.node });
        }
        return event.method !== "tasks";
      },
      finalize: () => resolve(count),
    };
  };
  const graph = new StateGraph(Answers)
    .addNode("first", () => ({ answers: ["one"] }))
    .addNode("second", () => ({ answers: ["two"] }))
    .addEdge(START, "first")
    .addEdge("first", "second")
    .addEdge("second", END)
    .compile();
  graph.streamTransformers = [transformer] as never;
  return graph;
}

export async function protocolGraphs(): Promise<Map<string, LoadedGraph>> {
  const builtin = await loadServerGraphs(builtinGraphs({ environment: {} }));
  const own = {
    "asking-twice": askingTwice(),
    "asking-below": askingBelow(),
    reporting: reporting(),
    counting: counting(),
  };
  const graphs = new Map([...builtin.graphs, ...(await testGraphs())]);
  for (const [graphId, graph] of Object.entries(own)) {
    const source = { graphId, description: undefined, file: undefined, exportName: graphId };
    graphs.set(graphId, fixedGraph(source, graph as unknown as CompiledGraph, builtin.kit));
  }
  return graphs;
}
