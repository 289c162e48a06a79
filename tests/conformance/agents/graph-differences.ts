import type { Difference } from "./differences.ts";
import { isRecord, type Json, type JsonRecord } from "./json.ts";

/** Names of fields and the kinds of their values, as both languages can declare them. */
function declared(schema: JsonRecord): Json {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const names = Object.keys(properties).sort();
  return Object.fromEntries(names.map((name) => [name, kindOf(properties[name]!)]));
}

function kindOf(schema: Json): string {
  if (!isRecord(schema)) return "anything";
  const { type, items } = schema;
  if (type === "array") return isPlain(items) ? `list of ${kindOf(items)}` : "list";
  if (type === "integer") return "number";
  return typeof type === "string" ? type : "anything";
}

/** Messages have a long schema, which each library writes in its own way. */
const isPlain = (items: Json | undefined): items is JsonRecord =>
  isRecord(items) && typeof items.type === "string" && items.type !== "object";

const isSchema = (value: Json): value is JsonRecord =>
  isRecord(value) && value.type === "object" && isRecord(value.properties);

const schemaName = /^(input|output|state|config|context)_schema$|^inputSchema$/;

export const graphDifferences: Record<string, Difference> = {
  "words of schemas": {
    reason:
      "JSON Schemas are written by pydantic in Python and from the types of the source in TypeScript: titles, definitions, required fields and whole numbers differ; fields and their kinds do not.",
    mend: (value, key) => (schemaName.test(key) && isSchema(value) ? declared(value) : value),
  },
  "types of subgraphs in TypeScript": {
    reason:
      "The types of a TypeScript file are read for the graph it exports, not for those within it, nor for tools of MCP.",
    journeys: /subgraphs of|tools of MCP/,
    mend: (value, key) =>
      schemaName.test(key) && isRecord(value)
        ? Object.fromEntries(Object.keys(value).map((name) => [name, "declared"]))
        : value,
  },
  "data of drawn nodes": {
    reason: "What a node is made of is told by the class of each library.",
    journeys: /drawing of/,
    mend: (value) =>
      isRecord(value) && typeof value.id === "string" && "data" in value ? { id: value.id } : value,
  },
  "edges to the end": {
    reason: "Python's library draws an edge to the end from every node without another one.",
    journeys: /drawing of/,
    mend: (value) =>
      isRecord(value) && (value.target === "__end__" || value.id === "__end__") ? undefined : value,
  },
  "order of fields in text": {
    reason: "JSON as text has its fields in the order in which each language makes them.",
    journeys: /MCP/,
    mend: (value, key) => {
      if (key !== "text" || typeof value !== "string" || !value.startsWith("{")) return value;
      return JSON.parse(value) as Json;
    },
  },
};
