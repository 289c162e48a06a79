export type JsonSchema = { [key: string]: unknown };

/** As `GET /assistants/{id}/schemas` answers, without the graph's name; null where the graph declares none. */
export type GraphSchemas = {
  input_schema: JsonSchema | null;
  output_schema: JsonSchema | null;
  state_schema: JsonSchema | null;
  config_schema: JsonSchema | null;
  context_schema: JsonSchema | null;
};

export type DrawnNode = { id: string; type: string; data: unknown; metadata?: unknown };
export type DrawnEdge = { source: string; target: string; conditional: boolean; data?: string };
export type DrawnGraph = { nodes: DrawnNode[]; edges: DrawnEdge[] };

/**
 * Whether the running graph knows all its types: one for every field of the state, and a config. A config
 * declared with annotations leaves no trace in it.
 */
export function isFullyTyped(schemas: GraphSchemas): boolean {
  const properties = schemas.state_schema?.properties as Record<string, JsonSchema> | undefined;
  return schemas.config_schema !== null && !Object.values(properties ?? {}).some(isUntyped);
}

function isUntyped(field: JsonSchema): boolean {
  if (field.type === "array") return field.items === undefined;
  if (field.type === "object")
    return field.properties === undefined && field.additionalProperties === undefined;
  return Object.keys(field).length === 0;
}
