import { z } from "zod";

export type JsonSchema = Record<string, unknown>;

type Side = "input" | "output";

/** The fixed shapes of errors. */
const errorSchemas: Record<string, JsonSchema> = {
  ErrorDetail: {
    type: "object",
    title: "ErrorDetail",
    required: ["detail"],
    properties: { detail: { type: "string", title: "Detail" } },
  },
  HTTPValidationError: {
    type: "object",
    title: "HTTPValidationError",
    properties: {
      detail: { type: "array", title: "Detail", items: { $ref: "#/components/schemas/ValidationError" } },
    },
  },
  ValidationError: {
    type: "object",
    title: "ValidationError",
    required: ["loc", "msg", "type"],
    properties: {
      loc: { type: "array", title: "Location", items: { anyOf: [{ type: "string" }, { type: "integer" }] } },
      msg: { type: "string", title: "Message" },
      type: { type: "string", title: "Error Type" },
      input: { title: "Input" },
      ctx: { type: "object", title: "Context" },
    },
  },
};

/**
 * Turns zod schemas into JSON schemas and gathers those with a name (`.meta({ id })`). What a client sends
 * and what it gets can differ (defaults), so a name used on both sides becomes two when the forms differ.
 */
export class SchemaCollector {
  readonly #named: Record<Side, Map<string, JsonSchema>> = { input: new Map(), output: new Map() };
  readonly #converted: Record<Side, Map<z.ZodType, JsonSchema>> = { input: new Map(), output: new Map() };
  #unnamed = 0;

  input(schema: z.ZodType): JsonSchema {
    return this.#convert(schema, "input");
  }

  output(schema: z.ZodType): JsonSchema {
    return this.#convert(schema, "output");
  }

  /** The fields of a params or query schema, one parameter each. */
  properties(schema: z.ZodType): { properties: Record<string, JsonSchema>; required: Set<string> } {
    let root = this.#convert(schema, "input");
    const reference = typeof root.$ref === "string" ? nameOfMark(root.$ref) : undefined;
    if (reference !== undefined) root = this.#named.input.get(reference)!;
    return {
      properties: (root.properties ?? {}) as Record<string, JsonSchema>,
      required: new Set((root.required ?? []) as string[]),
    };
  }

  /** Puts the gathered schemas under `components` and points every reference at them. */
  finish(document: JsonSchema): JsonSchema {
    const renamed = differing(this.#named);
    const resolve = (value: unknown) => resolveMarks(value, renamed);
    const schemas: Record<string, unknown> = { ...errorSchemas };
    for (const [name, schema] of this.#named.output) schemas[name] = resolve(schema);
    for (const [name, schema] of this.#named.input)
      schemas[renamed.has(name) ? `${name}Input` : name] = resolve(schema);
    const sorted = Object.fromEntries(
      Object.keys(schemas)
        .sort()
        .map((name) => [name, schemas[name]]),
    );
    return { ...(resolve(document) as JsonSchema), components: { schemas: sorted } };
  }

  #convert(schema: z.ZodType, side: Side): JsonSchema {
    const known = this.#converted[side].get(schema);
    if (known) return known;
    const {
      $schema: _,
      $defs,
      ...root
    } = z.toJSONSchema(schema, {
      target: "draft-2020-12",
      io: side,
      unrepresentable: "any",
      override: simplify,
    }) as JsonSchema;
    // Recursion through a schema without a name gives a made-up name or `#`, good in one schema only.
    const names = new Map<string, string>();
    const nameOf = (given: string) => {
      if (given !== "#" && !given.startsWith("__")) return given;
      if (!names.has(given)) names.set(given, `Schema${++this.#unnamed}`);
      return names.get(given)!;
    };
    const mark = (value: JsonSchema) => marked(value, (given) => markOf(nameOf(given), side));
    for (const [name, definition] of Object.entries(($defs ?? {}) as Record<string, JsonSchema>)) {
      this.#named[side].set(nameOf(name), mark(definition));
    }
    let result = mark(root);
    if (names.has("#")) {
      this.#named[side].set(nameOf("#"), result);
      result = { $ref: markOf(nameOf("#"), side) };
    }
    this.#converted[side].set(schema, result);
    return result;
  }
}

/** zod calls every output object closed, and spells out what `integer` and the formats imply already. */
function simplify(context: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { zodSchema, jsonSchema } = context;
  const { def } = zodSchema._zod;
  if (def.type === "object" && def.catchall === undefined) delete jsonSchema.additionalProperties;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
}

const markOf = (name: string, side: Side) => `${side}:${name}`;
const nameOfMark = (mark: string) => /^(?:input|output):(.+)$/.exec(mark)?.[1];

/** References stay marked with their side until it is known which names differ. */
function marked(value: JsonSchema, mark: (name: string) => string): JsonSchema {
  return mapReferences(value, (reference) => {
    if (reference === "#") return mark(reference);
    return reference.startsWith("#/$defs/") ? mark(reference.slice("#/$defs/".length)) : reference;
  }) as JsonSchema;
}

function resolveMarks(value: unknown, renamed: ReadonlySet<string>): unknown {
  return mapReferences(value, (reference) => {
    const name = nameOfMark(reference);
    if (name === undefined) return reference;
    const own = reference.startsWith("input:") && renamed.has(name) ? `${name}Input` : name;
    return `#/components/schemas/${own}`;
  });
}

function mapReferences(value: unknown, map: (reference: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => mapReferences(item, map));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === "$ref" && typeof inner === "string" ? map(inner) : mapReferences(inner, map),
    ]),
  );
}

/** Names whose two forms differ. Renaming one changes those that refer to it, so this repeats until none is added. */
function differing(named: Record<Side, Map<string, JsonSchema>>): Set<string> {
  const renamed = new Set<string>();
  for (let grew = true; grew; ) {
    grew = false;
    for (const [name, input] of named.input) {
      const output = named.output.get(name);
      if (renamed.has(name) || output === undefined) continue;
      const before = JSON.stringify(resolveMarks(output, renamed));
      if (JSON.stringify(resolveMarks(input, renamed)) === before) continue;
      renamed.add(name);
      grew = true;
    }
  }
  return renamed;
}
