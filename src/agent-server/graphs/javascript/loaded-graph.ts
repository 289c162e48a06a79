import type { Pregel } from "@langchain/langgraph/pregel";
import { errorMessage } from "../../../platform/errors.ts";
import type { AccessContext, GraphConfig, GraphSource, ServedGraph } from "../graph-runtime.ts";
import { graphError } from "../project-faults.ts";
import type { GraphKit } from "./graph-kit.ts";
import { bindGraph, readRunningSchemas } from "./javascript-runtime.ts";

/** Any compiled graph; its channels and nodes are the user's business. */
// biome-ignore lint/suspicious/noExplicitAny: Pregel's parameters are invariant, no narrower type accepts every graph.
export type CompiledGraph = Pregel<any, any, Record<string, unknown>, any, any>;

/** A graph of this process, and how to run it. */
export type LoadedGraph = ServedGraph & JavascriptGraph;

export type JavascriptGraph = GraphSource & {
  isFactory: boolean;
  /** The copy of the graph library this graph was built with. */
  kit: GraphKit;
  /**
   * The compiled graph. A factory is called each time; any other graph is always the same object, so the caller must
   * not write its checkpointer or store onto it but pass them with the run.
   */
  resolve(config: GraphConfig, accessContext: AccessContext, runContext?: unknown): Promise<CompiledGraph>;
};

/** A factory takes the run's config and `{ accessContext, executionRuntime }`, the latter only when it will run. */
type GraphFactory = (config: GraphConfig, runtime: FactoryRuntime) => unknown;
type FactoryRuntime = { accessContext: AccessContext; executionRuntime: { context: unknown } | null };

export function fixedGraph(source: GraphSource, graph: CompiledGraph, kit: GraphKit): LoadedGraph {
  return served({ ...source, isFactory: false, kit, resolve: async () => graph });
}

export function factoryGraph(source: GraphSource, factory: GraphFactory, kit: GraphKit): LoadedGraph {
  return served({
    ...source,
    isFactory: true,
    kit,
    async resolve(config, accessContext, runContext) {
      const executionRuntime = accessContext === "threads.create_run" ? { context: runContext } : null;
      const made = await callFactory(
        source,
        factory,
        { configurable: {}, ...config },
        { accessContext, executionRuntime },
      );
      const compiled = compileGraph(made);
      if (compiled === undefined) {
        throw graphError(
          "graph.not_a_graph",
          source,
          `the function returned ${describeValue(made)} instead of a graph`,
        );
      }
      return compiled;
    },
  });
}

function served(graph: JavascriptGraph): LoadedGraph {
  const schemas = () => readRunningSchemas(graph);
  return { ...graph, schemas, bind: (ground) => bindGraph(graph, ground) };
}

async function callFactory(
  source: GraphSource,
  factory: GraphFactory,
  config: GraphConfig,
  runtime: FactoryRuntime,
) {
  try {
    return await factory(config, runtime);
  } catch (error) {
    throw graphError(
      "graph.factory_failed",
      source,
      `the function that makes the graph failed: ${errorMessage(error)}`,
      error,
    );
  }
}

/** A compiled graph of what people export: compiled, not yet compiled, or an agent that carries its graph. */
export function compileGraph(value: unknown): CompiledGraph | undefined {
  if (value === null || typeof value !== "object") return undefined;
  if (isCompiled(value)) return value;
  if ("compile" in value && typeof value.compile === "function" && "nodes" in value) {
    const compiled: unknown = value.compile();
    return isCompiled(compiled) ? compiled : undefined;
  }
  if ("graph" in value && isCompiled(value.graph)) return value.graph;
  return undefined;
}

function isCompiled(value: unknown): value is CompiledGraph {
  return (
    value !== null && typeof value === "object" && "lg_is_pregel" in value && value.lg_is_pregel === true
  );
}

export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value !== "object") return `a ${typeof value}`;
  const name = value.constructor?.name;
  return name && name !== "Object" ? `an object of class ${name}` : "a plain object";
}
