import { type GraphKit, loadServerKit } from "./graph-kit.ts";
import { type CompiledGraph, fixedGraph, type LoadedGraph } from "./loaded-graph.ts";

export type ServerGraph = { graphId: string; description: string; graph: CompiledGraph };

/** Graphs that come with the server and were built with its own copy of the graph library. */
export async function loadServerGraphs(
  given: readonly ServerGraph[],
): Promise<{ graphs: Map<string, LoadedGraph>; kit: GraphKit }> {
  const kit = await loadServerKit();
  const load = ({ graphId, description, graph }: ServerGraph) =>
    fixedGraph({ graphId, description, file: undefined, exportName: graphId }, graph, kit);
  return { graphs: new Map(given.map((each) => [each.graphId, load(each)])), kit };
}
