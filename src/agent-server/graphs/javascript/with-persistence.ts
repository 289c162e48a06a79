import type { CompiledGraph } from "./loaded-graph.ts";

export type Persistence = Partial<Pick<CompiledGraph, "checkpointer" | "store">>;

/**
 * A copy of the graph that keeps its state where the server wants it, regardless of its author's choice. A copy,
 * because all runs share the graph; made by its constructor, as the library itself does it, because private members do
 * not survive any other way of copying.
 */
export function withPersistence(graph: CompiledGraph, persistence: Persistence): CompiledGraph {
  const Graph = graph.constructor as new (fields: object) => CompiledGraph;
  return new Graph({ ...graph, checkpointer: undefined, store: undefined, ...persistence });
}
