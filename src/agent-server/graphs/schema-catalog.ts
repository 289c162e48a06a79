import { type GraphSchemas, isFullyTyped } from "./graph-description.ts";
import type { GraphSource, ServedGraph } from "./graph-runtime.ts";

/**
 * Better schemas from the source's types, where the running graph has none; undefined when there are none. Rejects,
 * with the reason, when they could not be read.
 */
export type TypeSchemas = (graph: GraphSource, atRunTime: GraphSchemas) => Promise<GraphSchemas | undefined>;

type DescribedGraph = Pick<ServedGraph, keyof GraphSource | "schemas">;

/** `problem`: why the types are missing in them. */
export type CatalogSchemas = GraphSchemas & { problem?: string };

export type SchemaCatalog = {
  /** The schemas of a graph, with its types; computed on the first request. */
  get(graphId: string): Promise<CatalogSchemas | undefined>;
  /** The schemas of the running graph: available at once, with names instead of types for annotations. */
  atRunTime(graphId: string): Promise<GraphSchemas | undefined>;
  /** Reads the running graphs' schemas, one after the other; called after the start so that no request waits for it. */
  warm(): Promise<void>;
};

export type SchemaCatalogOptions = {
  graphs: ReadonlyMap<string, DescribedGraph>;
  typeSchemas?: TypeSchemas;
  /** Called when schemas could not be read; those of the running graph are kept. */
  onProblem(graphId: string, error: unknown): void;
  /** After this long types that could not be read are tried again. */
  retryMs?: number;
};

const unknownSchemas: GraphSchemas = {
  input_schema: null,
  output_schema: null,
  state_schema: null,
  config_schema: null,
  context_schema: null,
};
const defaultRetryMs = 60_000;

export function createSchemaCatalog(options: SchemaCatalogOptions): SchemaCatalog {
  const { graphs, typeSchemas, onProblem, retryMs = defaultRetryMs } = options;
  const running = new Map<string, Promise<GraphSchemas>>();
  const typed = new Map<string, Promise<CatalogSchemas>>();

  async function readRunning(graph: DescribedGraph): Promise<GraphSchemas> {
    try {
      return await graph.schemas();
    } catch (error) {
      onProblem(graph.graphId, error);
      return unknownSchemas;
    }
  }

  async function readTyped(graph: DescribedGraph): Promise<CatalogSchemas> {
    const known = await once(running, graph, readRunning);
    if (typeSchemas === undefined || isFullyTyped(known)) return known;
    try {
      return (await typeSchemas(graph, known)) ?? known;
    } catch (error) {
      onProblem(graph.graphId, error);
      setTimeout(() => typed.delete(graph.graphId), retryMs).unref();
      return { ...known, problem: error instanceof Error ? error.message : String(error) };
    }
  }

  return {
    async get(graphId) {
      const graph = graphs.get(graphId);
      return graph && once(typed, graph, readTyped);
    },
    async atRunTime(graphId) {
      const graph = graphs.get(graphId);
      return graph && once(running, graph, readRunning);
    },
    async warm() {
      for (const graph of graphs.values()) await once(running, graph, readRunning);
    },
  };
}

function once<T>(
  begun: Map<string, Promise<T>>,
  graph: DescribedGraph,
  read: (graph: DescribedGraph) => Promise<T>,
): Promise<T> {
  let reading = begun.get(graph.graphId);
  if (!reading) {
    reading = read(graph);
    begun.set(graph.graphId, reading);
  }
  return reading;
}
