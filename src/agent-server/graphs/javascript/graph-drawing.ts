import type { DrawnEdge, DrawnGraph, DrawnNode, GraphSchemas } from "../graph-description.ts";
import type { GraphKit } from "./graph-kit.ts";
import { readGraphSchemas } from "./graph-schemas.ts";
import type { CompiledGraph } from "./loaded-graph.ts";

/** The nodes and edges of a graph; `xray` also opens its subgraphs, all of them or that many levels. */
export async function drawGraph(graph: CompiledGraph, xray: boolean | number = false): Promise<DrawnGraph> {
  const drawable = await graph.getGraphAsync({ xray } as Parameters<CompiledGraph["getGraphAsync"]>[0]);
  const drawn = drawable.toJSON() as { nodes?: DrawnNode[]; edges?: Partial<DrawnEdge>[] };
  return {
    nodes: (drawn.nodes ?? []).map((node) => ({ ...node, id: String(node.id) })),
    edges: (drawn.edges ?? []).map(({ source, target, conditional, data }) => ({
      source: String(source),
      target: String(target),
      conditional: conditional ?? false,
      ...(data === undefined ? {} : { data }),
    })),
  };
}

/** The schemas of a graph's subgraphs by namespace (`node`, or `node|inner` when recursing). */
export async function readSubgraphSchemas(
  graph: CompiledGraph,
  kit: GraphKit,
  options: { namespace?: string; recurse?: boolean } = {},
): Promise<Record<string, GraphSchemas>> {
  const found: Record<string, GraphSchemas> = {};
  // The library finds an inner namespace only with `recurse`.
  const recurse = options.recurse ?? options.namespace?.includes("|") ?? false;
  for await (const [namespace, subgraph] of graph.getSubgraphsAsync(options.namespace, recurse)) {
    found[namespace] = readGraphSchemas(subgraph as unknown as CompiledGraph, kit);
  }
  return found;
}
