import { AppError } from "../../platform/errors.ts";
import { isUuid, nameId } from "../../platform/ids.ts";
import { defaultGraphId, unnamedAssistant } from "../../platform/streaming-protocol/unnamed-assistant.ts";

/** The namespace clients derive default assistant ids from. */
const defaultNamespace = "6ba7b821-9dad-11d1-80b4-00c04fd430c8";

/** Every graph has one assistant with this id, in every workspace. */
export function defaultAssistantId(graphId: string): string {
  return nameId(graphId, defaultNamespace);
}

type Graphs = { has(graphId: string): boolean };
type NamedGraphs = Graphs & { readonly allIds: readonly string[] };

/** A graph id is accepted everywhere an assistant id is. */
export function resolveAssistantId(graphs: Graphs, id: string): string {
  if (graphs.has(id)) return defaultAssistantId(id);
  if (isUuid(id)) return id.toLowerCase();
  throw assistantNotFound(id);
}

/** The assistant of a run. A client that names none gets the default graph. */
export function resolveRunAssistantId(graphs: NamedGraphs, id: string): string {
  if (id !== unnamedAssistant || graphs.has(id)) return resolveAssistantId(graphs, id);
  const { allIds } = graphs;
  const found = defaultGraphId(allIds);
  if (found !== undefined) return defaultAssistantId(found);
  throw new AppError({
    code: "assistant.unnamed",
    kind: "invalid",
    message: `The request has no assistant_id, and this server has no default graph "agent". Send one of these as assistant_id: ${allIds.join(", ") || "there is none"}.`,
  });
}

export type Assistant = {
  assistant_id: string;
  graph_id: string;
  config: Record<string, unknown>;
  context: Record<string, unknown>;
  metadata: Record<string, unknown>;
  name: string;
  description: string | null;
  version: number;
  created_at: Date;
  updated_at: Date;
};

/** What an assistant was at one time. */
export type AssistantVersion = Omit<Assistant, "updated_at">;

export const assistantFields = [
  "assistant_id",
  "graph_id",
  "config",
  "context",
  "created_at",
  "updated_at",
  "metadata",
  "version",
  "name",
  "description",
] as const satisfies readonly (keyof Assistant)[];
export type AssistantField = (typeof assistantFields)[number];

export const assistantSortKeys = ["assistant_id", "graph_id", "created_at", "updated_at", "name"] as const;

export const untitled = "Untitled";

/** What a change leaves out stays; metadata is merged key by key. */
export type AssistantChange = {
  graph_id?: string | undefined;
  config?: Record<string, unknown> | undefined;
  context?: Record<string, unknown> | undefined;
  metadata?: Record<string, unknown> | undefined;
  name?: string | undefined;
  /** Null takes it away. */
  description?: string | null | undefined;
};

export function changeAssistant(assistant: Assistant, change: AssistantChange): Assistant {
  return {
    ...assistant,
    graph_id: change.graph_id ?? assistant.graph_id,
    config: change.config ?? assistant.config,
    context: change.context ?? assistant.context,
    metadata: { ...assistant.metadata, ...change.metadata },
    name: change.name ?? assistant.name,
    description: change.description === undefined ? assistant.description : change.description,
  };
}

export function assistantNotFound(id: string): AppError {
  return new AppError({
    code: "assistant.not_found",
    kind: "not_found",
    message: `Assistant not found. No assistant found for "${id}": this server has no assistant and no graph with this id.`,
  });
}
