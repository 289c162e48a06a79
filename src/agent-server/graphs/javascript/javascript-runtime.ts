import type { StoredCheckpoint } from "../../checkpoints/checkpoint.ts";
import type { GraphSchemas } from "../graph-description.ts";
import type { OpenedGraph, OpenOptions, RunnableGraph, RuntimeGround } from "../graph-runtime.ts";
import { drawGraph, readSubgraphSchemas } from "./graph-drawing.ts";
import { startGraph } from "./graph-execution.ts";
import { readGraphSchemas } from "./graph-schemas.ts";
import {
  bulkUpdateState,
  carriedChannels,
  graphAt,
  isRepeatable,
  readThreadHistory,
  readThreadState,
  updateThreadState,
} from "./graph-state.ts";
import { createStoreFactory } from "./graph-store.ts";
import type { JavascriptGraph } from "./loaded-graph.ts";
import { SaverFactory } from "./saver-factory.ts";

/** Graphs of this process, run by the copy of the graph library they were built with. */
export function bindGraph(loaded: JavascriptGraph, ground: RuntimeGround): RunnableGraph {
  const { graphId, description, file, exportName, isFactory, kit } = loaded;
  const savers = new SaverFactory(ground.checkpoints);
  const stores = createStoreFactory(ground.items);
  return {
    graphId,
    description,
    file,
    exportName,
    isFactory,
    schemas: () => readRunningSchemas(loaded),
    draw: async (config, xray) => drawGraph(await loaded.resolve(config, "assistants.read"), xray),
    subgraphs: async (config, options) =>
      readSubgraphSchemas(await loaded.resolve(config, "assistants.read"), kit, options),
    open: (options) => openGraph(loaded, savers, options),
    start: (attempt) => startGraph({ loaded, savers, stores, ground }, attempt),
  };
}

export async function readRunningSchemas({ kit, resolve }: JavascriptGraph): Promise<GraphSchemas> {
  return readGraphSchemas(await resolve({}, "assistants.read"), kit);
}

async function openGraph(
  loaded: JavascriptGraph,
  savers: SaverFactory,
  options: OpenOptions,
): Promise<OpenedGraph> {
  const { graphId, kit } = loaded;
  const graph = await graphAt(await loaded.resolve(options.config, options.access), options.address);
  const saver = options.writes
    ? savers.forKit(kit).with({ metadata: { graph_id: graphId } })
    : savers.forReading(kit);
  const reading = (read: readonly StoredCheckpoint[][], asText: boolean) =>
    saver.with({ read, ...(asText && { texts: carriedChannels(graph) }) });
  return {
    graphId,
    isRepeatable: !loaded.isFactory && isRepeatable(graph),
    state: (threadId, { stored, asText = false, ...how } = {}) =>
      readThreadState({ graph, saver: stored ? reading([[stored]], asText) : saver }, threadId, how),
    history: (threadId, { read, asText, ...query }) =>
      readThreadHistory({ graph, saver: reading(read, asText) }, threadId, query),
    update: async (threadId, update) =>
      updateThreadState({ graph: await graphAt(graph, update.address), saver }, threadId, update),
    fill: (threadId, supersteps) => bulkUpdateState({ graph, kit, saver }, threadId, supersteps),
  };
}
