import { z } from "zod";
import { jsonObject } from "../../platform/http/json-object.ts";
import { runConfig } from "../graphs/graph-call-schemas.ts";
import { type Assistant, type AssistantVersion, assistantFields, assistantSortKeys } from "./assistant.ts";

const name = z.string().max(1000);
const description = z.string().max(100_000);
const page = { limit: z.int().min(1).max(1000).default(10), offset: z.int().min(0).default(0) };
/** The database keeps versions in four bytes. */
const versionNumber = z.int().min(1).max(2_147_483_647);

export const assistantCreateBody = z
  .looseObject({
    graph_id: z.string().min(1),
    assistant_id: z.guid().nullish(),
    config: runConfig.nullish(),
    context: jsonObject.nullish(),
    metadata: jsonObject.nullish(),
    if_exists: z.enum(["raise", "do_nothing"]).nullish(),
    name: name.nullish(),
    description: description.nullish(),
  })
  .meta({ id: "AssistantCreate" });

export const assistantPatchBody = z
  .looseObject({
    graph_id: z.string().min(1).nullish(),
    config: runConfig.nullish(),
    context: jsonObject.nullish(),
    metadata: jsonObject.nullish().describe("Merged into the existing metadata, key by key."),
    name: name.nullish(),
    description: description.nullish(),
  })
  .meta({ id: "AssistantPatch" });

const filter = {
  metadata: jsonObject.nullish().describe("Matches assistants whose metadata contains all of it."),
  graph_id: z.string().nullish(),
  name: z.string().nullish().describe("Part of the name; case does not matter."),
};

export const assistantSearchBody = z
  .looseObject({
    ...filter,
    ...page,
    sort_by: z.enum(assistantSortKeys).nullish(),
    sort_order: z.enum(["asc", "desc"]).nullish(),
    select: z.array(z.enum(assistantFields)).nullish(),
  })
  .meta({ id: "AssistantSearch" });
export type AssistantSearch = z.output<typeof assistantSearchBody>;

export const assistantCountBody = z.looseObject(filter).meta({ id: "AssistantCount" });

export const versionsBody = z
  .looseObject({ metadata: jsonObject.nullish(), ...page })
  .meta({ id: "AssistantVersionSearch" });
export type VersionSearch = z.output<typeof versionsBody>;

export const latestBody = z.looseObject({ version: versionNumber }).meta({ id: "AssistantLatest" });

const versionShape = {
  assistant_id: z.guid(),
  graph_id: z.string(),
  config: runConfig,
  context: jsonObject,
  created_at: z.string(),
  metadata: jsonObject,
  version: z.int(),
  name: z.string(),
  description: z.string().nullable(),
};

export const assistantVersionView = z.object(versionShape).meta({ id: "AssistantVersion" });
export const assistantView = z.object({ ...versionShape, updated_at: z.string() }).meta({ id: "Assistant" });
export type AssistantView = z.output<typeof assistantView>;

export function toAssistantView(assistant: Assistant): AssistantView {
  return { ...toVersionView(assistant), updated_at: assistant.updated_at.toISOString() };
}

export function toVersionView(version: AssistantVersion): z.output<typeof assistantVersionView> {
  return {
    assistant_id: version.assistant_id,
    graph_id: version.graph_id,
    config: version.config,
    context: version.context,
    created_at: version.created_at.toISOString(),
    metadata: version.metadata,
    version: version.version,
    name: version.name,
    description: version.description,
  };
}

const schemaShape = {
  input_schema: jsonObject.nullable(),
  output_schema: jsonObject.nullable(),
  state_schema: jsonObject.nullable(),
  config_schema: jsonObject.nullable(),
  context_schema: jsonObject.nullable(),
};
export const subgraphSchemas = z.record(z.string(), z.object(schemaShape).meta({ id: "SubgraphSchemas" }));
export const graphSchemas = z
  .object({
    graph_id: z.string(),
    ...schemaShape,
    problem: z.string().optional().describe("Why the schemas lack the types of the source."),
  })
  .meta({ id: "GraphSchemas" });

export const graphDrawing = z
  .object({
    nodes: z.array(z.looseObject({ id: z.string(), type: z.string() })),
    edges: z.array(z.looseObject({ source: z.string(), target: z.string(), conditional: z.boolean() })),
  })
  .meta({ id: "GraphDrawing" });
