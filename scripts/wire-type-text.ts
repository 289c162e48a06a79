/** As much of JSON Schema as our documents use. */
export type WireSchema = {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: WireSchema[];
  oneOf?: WireSchema[];
  allOf?: WireSchema[];
  items?: WireSchema;
  prefixItems?: WireSchema[];
  properties?: Record<string, WireSchema>;
  required?: string[];
  additionalProperties?: WireSchema | boolean;
  description?: string;
};

/**
 * A schema as a TypeScript type. An object that may hold more than it names is shown with what it names: a reader
 * a misspelled field should be an error.
 */
export function typeText(schema: WireSchema, indent = ""): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1)!;
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return union(choices.map((choice) => typeText(choice, indent)));
  if (schema.allOf) return schema.allOf.map((part) => inBrackets(typeText(part, indent))).join(" & ");
  if (Array.isArray(schema.type)) {
    return union(schema.type.map((type) => typeText({ ...schema, type }, indent)));
  }
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "number":
    case "integer":
      return "number";
    case "array":
      return arrayText(schema, indent);
    case "object":
      return objectText(schema, indent);
    case undefined:
      return "unknown";
    default:
      throw new Error(`A type that the generator does not know: ${schema.type}`);
  }
}

function arrayText({ items, prefixItems }: WireSchema, indent: string): string {
  if (prefixItems) return `[${prefixItems.map((item) => typeText(item, indent)).join(", ")}]`;
  return `${inBrackets(typeText(items ?? {}, indent))}[]`;
}

function objectText(schema: WireSchema, indent: string): string {
  const { properties = {}, required = [], additionalProperties: rest } = schema;
  const names = Object.keys(properties);
  if (names.length === 0) {
    const values = typeof rest === "object" ? typeText(rest, indent) : "unknown";
    return `Record<string, ${values}>`;
  }
  const inner = `${indent}  `;
  const lines = names.map((name) => {
    const property = properties[name]!;
    const description = property.description;
    const words = description === undefined ? "" : `${inner}/** ${description.replaceAll("*/", "* /")} */\n`;
    const mark = required.includes(name) ? "" : "?";
    return `${words}${inner}${keyText(name)}${mark}: ${typeText(property, inner)};`;
  });
  return `{\n${lines.join("\n")}\n${indent}}`;
}

const keyText = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

/** Whatever joins `unknown` is unknown. */
function union(texts: readonly string[]): string {
  const different = [...new Set(texts)];
  if (different.includes("unknown")) return "unknown";
  return different
    .map((text) => (different.length > 1 && text.includes(" & ") ? `(${text})` : text))
    .join(" | ");
}

function inBrackets(text: string): string {
  return / [|&] /.test(withoutBraces(text)) ? `(${text})` : text;
}

/** What stands outside of braces and brackets decides whether a type must be put in them. */
function withoutBraces(text: string): string {
  let depth = 0;
  let outside = "";
  for (const character of text) {
    if ("{<[(".includes(character)) depth += 1;
    else if ("}>])".includes(character)) depth -= 1;
    else if (depth === 0) outside += character;
  }
  return outside;
}
