import { AppError } from "../../platform/errors.ts";
import { isUuid, nameId } from "../../platform/ids.ts";

/** The namespace clients derive default assistant ids from. */
const defaultNamespace = "6ba7b821-9dad-11d1-80b4-00c04fd430c8";

/** Every graph has one assistant with this id, in every workspace. */
export function defaultAssistantId(graphId: string): string {
  return nameId(graphId, defaultNamespace);
}

/** Wherever an assistant id is accepted, a graph id is too. */
export function resolveAssistantId(graphs: { has(graphId: string): boolean }, id: string): string {
  if (graphs.has(id)) return defaultAssistantId(id);
  if (isUuid(id)) return id.toLowerCase();
  throw new AppError({
    code: "assistant.not_found",
    kind: "not_found",
    message: `No assistant found for "${id}". Make sure it is the id of an assistant or of a graph of this server.`,
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
