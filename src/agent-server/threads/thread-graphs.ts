import type { StoredCheckpoint } from "../checkpoints/checkpoint.ts";
import type { RunnableGraphs } from "../graphs/graph-registry.ts";
import type { AccessContext, GraphConfig, OpenedGraph, RunnableGraph } from "../graphs/graph-runtime.ts";
import type { StateAddress } from "../graphs/state-snapshot.ts";

export type ThreadGraphsOptions = {
  graphs: RunnableGraphs;
  threadId: string;
  /** The graph that last ran on the thread. */
  lastGraphId: string;
  access: AccessContext;
  /** For changes of the state. */
  writes?: boolean;
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
  readonly #made = new Map<string, Promise<OpenedGraph>>();

  constructor(options: ThreadGraphsOptions) {
    this.#options = options;
  }

  last(): Promise<OpenedGraph> {
    const { graphs, lastGraphId } = this.#options;
    return this.#once(lastGraphId, async () => this.#make(graphs.get(lastGraphId)));
  }

  /** The one that wrote the checkpoint; the last where this server does not have that one. */
  of(checkpoint: StoredCheckpoint): Promise<OpenedGraph> {
    const { graphs, lastGraphId } = this.#options;
    const graphId = graphIdOf(checkpoint);
    const loaded = graphId === undefined || graphId === lastGraphId ? undefined : graphs.find(graphId);
    if (loaded === undefined) return this.last();
    // An older graph that cannot be made now fails its runs, but must not hide the thread's states.
    return this.#once(loaded.graphId, () => this.#make(loaded).catch(() => this.last()));
  }

  #once(graphId: string, make: () => Promise<OpenedGraph>): Promise<OpenedGraph> {
    const made = this.#made.get(graphId) ?? make();
    this.#made.set(graphId, made);
    return made;
  }

  async #make(graph: RunnableGraph): Promise<OpenedGraph> {
    const { threadId, access, address, writes = false, configOf } = this.#options;
    const { graphId } = graph;
    const config = graph.isFactory ? await configOf(graphId) : {};
    const configurable = { ...config.configurable, thread_id: threadId, graph_id: graphId };
    return graph.open({ config: { ...config, configurable }, access, address, writes });
  }
}

function graphIdOf({ metadata }: StoredCheckpoint): string | undefined {
  const { graph_id } = JSON.parse(metadata) as { graph_id?: unknown };
  return typeof graph_id === "string" ? graph_id : undefined;
}
