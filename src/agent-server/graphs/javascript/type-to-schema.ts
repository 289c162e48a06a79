import type { Checker, Type } from "typescript/unstable/async";
import type { JsonSchema } from "../graph-description.ts";
import { messagesSchema } from "./channel-schemas.ts";

const messageClass = /^(Base|AI|Human|System|Tool|Function|Chat|Remove)Message(Chunk)?$/;
const deepest = 6;

export type TypeReader = { checker: Checker; optionalFlag: number };

/** What JSON can hold of a TypeScript type; `{}`, anything, for what it cannot. */
export async function typeToSchema(reader: TypeReader, type: Type, depth = 0): Promise<JsonSchema> {
  if (depth > deepest) return {};
  if (type.isLiteralType()) return typeof type.value === "bigint" ? {} : { const: type.value };
  if (type.isIntrinsicType()) return intrinsicSchema(type.intrinsicName);
  if (type.isUnionType()) return unionSchema(reader, await type.getTypes(), depth);
  if (await reader.checker.isTupleType(type)) return { type: "array" };
  if (await reader.checker.isArrayType(type)) return arraySchema(reader, type, depth);
  if (type.isIntersectionType() || type.isObjectType()) return objectSchema(reader, type, depth);
  return {};
}

function intrinsicSchema(name: string): JsonSchema {
  if (name === "string" || name === "number" || name === "boolean" || name === "null") return { type: name };
  if (name === "true" || name === "false") return { const: name === "true" };
  return name === "object" ? { type: "object" } : {};
}

async function unionSchema(reader: TypeReader, members: readonly Type[], depth: number): Promise<JsonSchema> {
  const schemas: JsonSchema[] = [];
  for (const member of members) {
    if (member.isIntrinsicType() && ["undefined", "void"].includes(member.intrinsicName)) continue;
    // A state field may also be overwritten; the API has no such form.
    if (/^Overwrite/.test(await nameOf(member))) continue;
    const schema = await typeToSchema(reader, member, depth + 1);
    if (Object.keys(schema).length === 0) return {};
    schemas.push(schema);
  }
  const messages = schemas.find((schema) => schema.langgraph_type === "messages");
  if (messages) return messages;
  const literals = schemas.filter((schema) => "const" in schema).map((schema) => schema.const);
  const others = schemas.filter((schema) => !("const" in schema));
  if (literals.length > 0) others.push(literalsSchema(literals));
  return others.length === 1 ? others[0]! : { anyOf: others };
}

/** Sorted, because the compiler's order is not the author's. */
function literalsSchema(literals: unknown[]): JsonSchema {
  const values = literals.toSorted((left, right) => (String(left) < String(right) ? -1 : 1));
  const kinds = new Set(values.map((value) => typeof value));
  if (kinds.size > 1) return { enum: values };
  const [kind] = kinds;
  return kind === "boolean" && values.length === 2 ? { type: "boolean" } : { type: kind, enum: values };
}

async function arraySchema(reader: TypeReader, type: Type, depth: number): Promise<JsonSchema> {
  if (!type.isTypeReference()) return { type: "array" };
  const [item] = await reader.checker.getTypeArguments(type);
  if (item === undefined) return { type: "array" };
  const members = item.isUnionType() ? await item.getTypes() : [item];
  const names = await Promise.all(members.map(nameOf));
  if (names.every((name) => messageClass.test(name))) return messagesSchema;
  return { type: "array", items: await typeToSchema(reader, item, depth + 1) };
}

async function objectSchema(reader: TypeReader, type: Type, depth: number): Promise<JsonSchema> {
  const { checker, optionalFlag } = reader;
  const name = await nameOf(type);
  if (name === "Date") return { type: "string", format: "date-time" };
  if (messageClass.test(name)) return messagesSchema.items as JsonSchema;
  if ((await checker.getSignaturesOfType(type, 0)).length > 0) return {};
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const property of await checker.getPropertiesOfType(type)) {
    const propertyType = await checker.getTypeOfSymbol(property);
    if (propertyType === undefined) continue;
    const description = await property.getDocumentationComment(checker);
    const schema = await typeToSchema(reader, propertyType, depth + 1);
    properties[property.name] = description === "" ? schema : { ...schema, description };
    if ((property.flags & optionalFlag) === 0) required.push(property.name);
  }
  const [index] = await checker.getIndexInfosOfType(type);
  return {
    type: "object",
    properties,
    ...(required.length === 0 ? {} : { required }),
    ...(index === undefined
      ? {}
      : { additionalProperties: await typeToSchema(reader, index.valueType, depth + 1) }),
  };
}

async function nameOf(type: Type): Promise<string> {
  const symbol = (await type.getAliasSymbol()) ?? (await type.getSymbol());
  return symbol?.name ?? "";
}
