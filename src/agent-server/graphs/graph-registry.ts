import { AppError } from "../../platform/errors.ts";
import type { RunnableGraph, RuntimeGround, ServedGraph } from "./graph-runtime.ts";

/** The graphs of a server that can be run. */
export type RunnableGraphs = GraphRegistry<RunnableGraph>;

/** The graphs this server runs, and why the others do not. */
export class GraphRegistry<Graph = ServedGraph> {
  readonly #graphs: ReadonlyMap<string, Graph>;
  readonly #broken: ReadonlyMap<string, AppError>;

  constructor(graphs: ReadonlyMap<string, Graph>, broken: ReadonlyMap<string, AppError> = new Map()) {
    this.#graphs = graphs;
    this.#broken = broken;
  }

  /** The same graphs, able to run on what a server gives them. */
  static bind(served: GraphRegistry, ground: RuntimeGround): RunnableGraphs {
    const graphs = [...served.#graphs].map(([id, graph]) => [id, graph.bind(ground)] as const);
    return new GraphRegistry(new Map(graphs), served.#broken);
  }

  get ids(): string[] {
    return [...this.#graphs.keys()];
  }

  /** Also the ones that could not be loaded: they have assistants, whose runs fail with the reason. */
  get allIds(): string[] {
    return [...this.#graphs.keys(), ...this.#broken.keys()];
  }

  get broken(): ReadonlyMap<string, AppError> {
    return this.#broken;
  }

  has(graphId: string): boolean {
    return this.#graphs.has(graphId) || this.#broken.has(graphId);
  }

  /** Undefined also for one that could not be loaded. */
  find(graphId: string): Graph | undefined {
    return this.#graphs.get(graphId);
  }

  get(graphId: string): Graph {
    const graph = this.#graphs.get(graphId);
    if (graph) return graph;
    const broken = this.#broken.get(graphId);
    if (broken) throw broken;
    throw new AppError({
      code: "graph.unknown",
      kind: "not_found",
      message: `Graph '${graphId}' not found. This server has: ${this.allIds.join(", ") || "none"}.`,
    });
  }
}
