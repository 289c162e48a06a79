import type { StoredCheckpoint } from "../checkpoints/checkpoint.ts";
import type { GraphRegistry } from "../graphs/graph-registry.ts";
import type { GraphKit } from "../graphs/javascript/graph-kit.ts";
import { graphAt, type StateAddress } from "../graphs/javascript/graph-state.ts";
import type {
  AccessContext,
  CompiledGraph,
  GraphConfig,
  LoadedGraph,
} from "../graphs/javascript/loaded-graph.ts";

export type ThreadGraph = { graphId: string; graph: CompiledGraph; kit: GraphKit };

export type ThreadGraphsOptions = {
  graphs: GraphRegistry;
  threadId: string;
  /** The graph that last ran on the thread. */
  lastGraphId: string;
  access: AccessContext;
  /** The config of the graph's last run on the thread, for graphs that are made from it. */
  configOf(graphId: string): Promise<GraphConfig>;
  /** Within the graphs: their subgraph, where the address names one. */
  address?: StateAddress | undefined;
};

/**
 * The graphs that left their checkpoints on a thread: any assistant runs on any thread, and only the graph that wrote a
 * checkpoint knows what comes next there. Each is made once, however many checkpoints it wrote.
 */
export class ThreadGraphs {
  readonly #options: ThreadGraphsOptions;
  readonly #made = new Map<string, Promise<ThreadGraph>>();

  constructor(options: ThreadGraphsOptions) {
    this.#options = options;
  }

  last(): Promise<ThreadGraph> {
    const { graphs, lastGraphId } = this.#options;
    return this.#once(lastGraphId, async () => this.#make(graphs.get(lastGraphId)));
  }

  /** The one that wrote the checkpoint; the last where this server does not have that one. */
  of(checkpoint: StoredCheckpoint): Promise<ThreadGraph> {
    const { graphs, lastGraphId } = this.#options;
    const graphId = graphIdOf(checkpoint);
    const loaded = graphId === undefined || graphId === lastGraphId ? undefined : graphs.find(graphId);
    if (loaded === undefined) return this.last();
    // An older graph that cannot be made now fails whoever runs it, and must not hide the thread's states.
    return this.#once(loaded.graphId, () => this.#make(loaded).catch(() => this.last()));
  }

  #once(graphId: string, make: () => Promise<ThreadGraph>): Promise<ThreadGraph> {
    const made = this.#made.get(graphId) ?? make();
    this.#made.set(graphId, made);
    return made;
  }

  async #make(loaded: LoadedGraph): Promise<ThreadGraph> {
    const { threadId, access, address, configOf } = this.#options;
    const { graphId, kit } = loaded;
    const config = loaded.isFactory ? await configOf(graphId) : {};
    const configurable = { ...config.configurable, thread_id: threadId, graph_id: graphId };
    const graph = await loaded.resolve({ ...config, configurable }, access);
    return { graphId, graph: await graphAt(graph, address), kit };
  }
}

function graphIdOf({ metadata }: StoredCheckpoint): string | undefined {
  const { graph_id } = JSON.parse(metadata) as { graph_id?: unknown };
  return typeof graph_id === "string" ? graph_id : undefined;
}
