import { type GraphSchemas, hasUntypedFields, readGraphSchemas } from "./graph-schemas.ts";
import type { LoadedGraph } from "./loaded-graph.ts";

/** Better schemas from the source's types, where the running graph cannot tell; undefined when there are none. */
export type TypeSchemas = (graph: LoadedGraph, atRunTime: GraphSchemas) => Promise<GraphSchemas | undefined>;

export type SchemaCatalog = {
  /** The schemas of a graph; worked out once, by `warm` or by whoever asks first. */
  get(graphId: string): Promise<GraphSchemas | undefined>;
  /** Works out all of them, one after the other; called after the start so that no request waits for it. */
  warm(): Promise<void>;
};

export type SchemaCatalogOptions = {
  graphs: ReadonlyMap<string, LoadedGraph>;
  typeSchemas?: TypeSchemas;
  /** Told when schemas could not be read; what is known without is kept. */
  onProblem(graphId: string, error: unknown): void;
};

const unknownSchemas: GraphSchemas = {
  input_schema: null,
  output_schema: null,
  state_schema: null,
  config_schema: null,
  context_schema: null,
};

export function createSchemaCatalog({ graphs, typeSchemas, onProblem }: SchemaCatalogOptions): SchemaCatalog {
  const known = new Map<string, Promise<GraphSchemas>>();

  async function read(graph: LoadedGraph): Promise<GraphSchemas> {
    const atRunTime = await orElse(graph, unknownSchemas, async () =>
      readGraphSchemas(await graph.resolve({}, "assistants.read"), graph.kit),
    );
    if (typeSchemas === undefined || !hasUntypedFields(atRunTime)) return atRunTime;
    return orElse(graph, atRunTime, async () => (await typeSchemas(graph, atRunTime)) ?? atRunTime);
  }

  async function orElse(graph: LoadedGraph, fallback: GraphSchemas, attempt: () => Promise<GraphSchemas>) {
    try {
      return await attempt();
    } catch (error) {
      onProblem(graph.graphId, error);
      return fallback;
    }
  }

  async function get(graphId: string): Promise<GraphSchemas | undefined> {
    const graph = graphs.get(graphId);
    if (graph === undefined) return undefined;
    const started = known.get(graphId) ?? read(graph);
    known.set(graphId, started);
    return started;
  }

  return {
    get,
    async warm() {
      for (const graphId of graphs.keys()) await get(graphId);
    },
  };
}
