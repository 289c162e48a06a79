import { AppError } from "../../platform/errors.ts";
import type { GraphSource } from "./graph-runtime.ts";
import type { ModuleReference, ProjectConfig } from "./project-config.ts";

/**
 * Names the graph, its file and its export, then what went wrong. A conflict with the deployed code, not "try again":
 * clients would retry five times before they show the reason, and nothing changes until the graph is fixed.
 */
export function graphError(
  code: `graph.${"factory_failed" | "load_failed" | "not_a_graph"}`,
  source: GraphSource,
  problem: string,
  cause?: unknown,
): AppError {
  const place = `${source.file ?? "built-in"}, export "${source.exportName}"`;
  return new AppError({
    code,
    kind: "conflict",
    retryable: false,
    message: `Graph "${source.graphId}" (${place}) cannot be used: ${problem}.`,
    detail: { graphId: source.graphId, file: source.file, exportName: source.exportName },
    cause,
  });
}

/** A part that all graphs need: the server does not start without it. */
export function partError(
  part: "auth.path" | "http.app" | "store.index.embed",
  reference: ModuleReference,
  config: Pick<ProjectConfig, "path">,
  problem: string,
  cause?: unknown,
): AppError {
  return new AppError({
    code: "graph.part_unusable",
    kind: "unavailable",
    retryable: false,
    message: `${part} in ${config.path} (${reference.file}, export "${reference.exportName}") cannot be used: ${problem}.`,
    cause,
  });
}
