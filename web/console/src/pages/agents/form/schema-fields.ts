/** A JSON Schema of an object as fields of a form, and what is typed there as values. */
export type JsonSchema = { [key: string]: unknown };
export type FormField = {
  name: string;
  title: string;
  description: string | null;
  required: boolean;
  kind: "text" | "long text" | "number" | "integer" | "boolean" | "choice" | "message" | "json";
  /** Of a choice: what can be chosen, as JSON. */
  options: readonly string[];
  /** The input of the graph when the field is left empty, as it would be typed. */
  standard: string | null;
  least: number | null;
  most: number | null;
};

type Texts = Readonly<Record<string, string>>;

export function fieldsOf(schema: JsonSchema | null | undefined): FormField[] {
  if (!schema) return [];
  const root = resolved(schema, schema);
  const required = new Set(Array.isArray(root.required) ? root.required : []);
  return Object.entries(root.properties ?? {}).map(([name, property]) =>
    fieldOf(name, resolved(property as JsonSchema, schema), required.has(name)),
  );
}

function fieldOf(name: string, schema: JsonSchema, required: boolean): FormField {
  const options = optionsOf(schema);
  return {
    name,
    title: typeof schema.title === "string" && schema.title !== "" ? schema.title : name,
    description: typeof schema.description === "string" ? schema.description : null,
    required,
    kind: options.length > 0 ? "choice" : kindOf(name, schema),
    options,
    standard: schema.default === undefined || schema.default === null ? null : typedAs(schema.default),
    least: typeof schema.minimum === "number" ? schema.minimum : null,
    most: typeof schema.maximum === "number" ? schema.maximum : null,
  };
}

function kindOf(name: string, schema: JsonSchema): FormField["kind"] {
  if (schema.langgraph_type === "messages" || (name === "messages" && schema.type === "array"))
    return "message";
  if (schema.type === "string")
    return /prompt|text|content|instruction|description/i.test(name) ? "long text" : "text";
  if (schema.type === "number" || schema.type === "integer" || schema.type === "boolean") return schema.type;
  return "json";
}

function optionsOf(schema: JsonSchema): string[] {
  if (Array.isArray(schema.enum)) return schema.enum.map(typedAs);
  const parts = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (!parts || parts.length === 0 || !parts.every((part) => "const" in part)) return [];
  return parts.map((part) => typedAs(part.const));
}

/** Without references, and without the null that makes a field optional. */
function resolved(schema: JsonSchema, root: JsonSchema, depth = 0): JsonSchema {
  if (depth > 8) return schema;
  const { $ref, ...rest } = schema;
  if (typeof $ref === "string") {
    return { ...resolved(pointed(root, $ref), root, depth + 1), ...rest };
  }
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== "null");
    return types.length === 1 ? { ...schema, type: types[0] } : schema;
  }
  for (const name of ["anyOf", "oneOf", "allOf"] as const) {
    const parts = schema[name] as JsonSchema[] | undefined;
    const real = parts?.filter(({ type }) => type !== "null");
    if (real?.length === 1) {
      const { [name]: _, ...others } = schema;
      return { ...resolved(real[0]!, root, depth + 1), ...others };
    }
  }
  return schema;
}

function pointed(root: JsonSchema, reference: string): JsonSchema {
  let found: unknown = root;
  for (const part of reference.replace(/^#\/?/, "").split("/").filter(Boolean)) {
    found = (found as JsonSchema | undefined)?.[part];
  }
  return (found ?? {}) as JsonSchema;
}

/** How values that are there look in the form. */
export function textsOf(fields: readonly FormField[], values: Readonly<Record<string, unknown>>): Texts {
  return Object.fromEntries(
    fields
      .filter(({ name }) => values[name] !== undefined && values[name] !== null)
      .map(({ name, kind }) => [
        name,
        kind === "json" ? JSON.stringify(values[name], null, 2) : typedAs(values[name]),
      ]),
  );
}

const typedAs = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

export type ReadForm = { values: Record<string, unknown>; problems: Record<string, string> };

/** What was typed, as values; what was left empty is not sent. */
export function readForm(fields: readonly FormField[], texts: Texts): ReadForm {
  const read: ReadForm = { values: {}, problems: {} };
  for (const field of fields) {
    const text = texts[field.name] ?? "";
    if (text.trim() === "") {
      if (field.required && field.standard === null) read.problems[field.name] = "The graph needs this.";
      continue;
    }
    const problem = readField(field, text, read.values);
    if (problem) read.problems[field.name] = problem;
  }
  return read;
}

function readField(field: FormField, text: string, values: Record<string, unknown>): string | null {
  const { name, kind } = field;
  if (kind === "text" || kind === "long text") values[name] = text;
  else if (kind === "message") values[name] = [{ role: "user", content: text.trim() }];
  else if (kind === "choice") values[name] = fromJson(text) ?? text;
  else if (kind === "number" || kind === "integer") return readNumber(field, text, values);
  else {
    const value = fromJson(text);
    if (value === undefined) return "This is not JSON yet. Strings need double quotes.";
    values[name] = value;
  }
  return null;
}

function readNumber(
  { name, kind, least, most }: FormField,
  text: string,
  values: Record<string, unknown>,
): string | null {
  const value = Number(text);
  if (!Number.isFinite(value)) return "This must be a number.";
  if (kind === "integer" && !Number.isInteger(value)) return "This must be a whole number.";
  if (least !== null && value < least) return `At least ${least}.`;
  if (most !== null && value > most) return `At most ${most}.`;
  values[name] = value;
  return null;
}

/** Undefined for what is not JSON. */
function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
