import { AppError } from "../../platform/errors.ts";
import type { LoadedGraph } from "./javascript/loaded-graph.ts";

/** The graphs this server runs, and why the others do not. */
export class GraphRegistry {
  readonly #graphs: ReadonlyMap<string, LoadedGraph>;
  readonly #broken: ReadonlyMap<string, AppError>;

  constructor(graphs: ReadonlyMap<string, LoadedGraph>, broken: ReadonlyMap<string, AppError> = new Map()) {
    this.#graphs = graphs;
    this.#broken = broken;
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
  find(graphId: string): LoadedGraph | undefined {
    return this.#graphs.get(graphId);
  }

  get(graphId: string): LoadedGraph {
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
