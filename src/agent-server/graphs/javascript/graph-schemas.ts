import type { GraphSchemas, JsonSchema } from "../graph-description.ts";
import { messagesSchema, schemaOfChannels } from "./channel-schemas.ts";
import type { GraphKit } from "./graph-kit.ts";
import type { CompiledGraph } from "./loaded-graph.ts";

/** The builder a compiled state graph keeps; graphs of the functional API have none. */
type Builder = {
  channels?: Record<string, unknown>;
  _inputDefinition?: Record<string, unknown>;
  _outputDefinition?: Record<string, unknown>;
};

/** Where the library keeps the declared schemas on the builder. */
const declaredKeys = [
  "_schemaRuntimeDefinition",
  "_inputRuntimeDefinition",
  "_outputRuntimeDefinition",
] as const;

type SchemaReader = (graph: unknown) => unknown;
type ZodObjectLike = { shape: Record<string, unknown>; pick(keys: Record<string, true>): unknown };

/** Reads zod and StateSchema definitions with the graph's own copy of the library, annotations from their channels. */
export function readGraphSchemas(graph: CompiledGraph, kit: GraphKit): GraphSchemas {
  const builder = (graph as { builder?: Builder }).builder;
  const read = (reader: SchemaReader | undefined, channels: Record<string, unknown> | undefined) => {
    const fallback = channels && schemaOfChannels(channels, kit);
    const declared = reader && readDeclared(reader, graph, fallback);
    const schema = declared ?? fallback;
    return schema === undefined ? null : tidySchema(schema);
  };
  const config = read(kit.schemas?.getConfigTypeSchema, undefined);
  return {
    input_schema: read(kit.schemas?.getInputTypeSchema, builder?._inputDefinition),
    output_schema: read(kit.schemas?.getOutputTypeSchema, builder?._outputDefinition),
    state_schema: read(kit.schemas?.getStateTypeSchema, builder?.channels),
    config_schema: config,
    context_schema: config,
  };
}

/** One field JSON Schema cannot express (z.custom, z.date) makes the library give up on all; then go field by field. */
function readDeclared(
  reader: SchemaReader,
  graph: unknown,
  fallback: JsonSchema | undefined,
): JsonSchema | undefined {
  try {
    return reader(graph) as JsonSchema | undefined;
  } catch {
    return readFieldByField(reader, graph, fallback);
  }
}

function readFieldByField(
  reader: SchemaReader,
  graph: unknown,
  fallback: JsonSchema | undefined,
): JsonSchema | undefined {
  const builder = (graph as { builder: Record<string, unknown> }).builder;
  const declared = Object.fromEntries(declaredKeys.map((key) => [key, builder[key]]));
  const objects = [...Object.values(declared), builder._configRuntimeSchema].filter(isZodObject);
  const names = [...new Set(objects.flatMap((object) => Object.keys(object.shape)))];
  const known = fallback?.properties as Record<string, JsonSchema> | undefined;
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const name of names) {
    const field = readField(
      reader,
      { ...declared, _configRuntimeSchema: builder._configRuntimeSchema },
      name,
    );
    if (field === undefined) continue;
    properties[name] = field.schema ?? known?.[name] ?? {};
    if (field.required) required.push(name);
  }
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}

type FieldReading = { schema: JsonSchema | undefined; required: boolean };

/** Undefined when the schema the reader looks at has no such field. */
function readField(
  reader: SchemaReader,
  definitions: Record<string, unknown>,
  name: string,
): FieldReading | undefined {
  const builder = Object.fromEntries(
    Object.entries(definitions).map(([key, value]) => [
      key,
      isZodObject(value) ? (name in value.shape ? value.pick({ [name]: true }) : value.pick({})) : value,
    ]),
  );
  try {
    const schema = reader({ builder }) as
      | { properties?: Record<string, JsonSchema>; required?: string[] }
      | undefined;
    const field = schema?.properties?.[name];
    return field && { schema: field, required: schema?.required?.includes(name) ?? false };
  } catch {
    return { schema: undefined, required: false };
  }
}

function isZodObject(value: unknown): value is ZodObjectLike {
  if (value === null || typeof value !== "object") return false;
  return "shape" in value && "pick" in value && typeof value.pick === "function";
}

const draft07 = "http://json-schema.org/draft-07/schema#";
const draft2020 = "https://json-schema.org/draft/2020-12/schema";

/** One dialect at the top instead of one per field, and messages described in full. */
export function tidySchema(schema: JsonSchema): JsonSchema {
  const body = tidyValue(schema) as JsonSchema;
  const dialect = JSON.stringify(body).includes('"prefixItems"') ? draft2020 : draft07;
  return { $schema: dialect, ...body };
}

function tidyValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidyValue);
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value).filter(([key, field]) => key !== "$schema" && field !== undefined);
  const tidy = Object.fromEntries(fields.map(([key, field]) => [key, tidyValue(field)])) as JsonSchema;
  return tidy.langgraph_type === "messages" && tidy.items === undefined
    ? { ...messagesSchema, ...tidy }
    : tidy;
}
