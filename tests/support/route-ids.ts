import { z } from "zod";
import type { Route } from "../../src/platform/http/route.ts";

/** Names that end like an id and name nothing of a workspace. */
const notOurs = new Set([
  // Made up by the caller, or known elsewhere.
  ...["client_id", "app_id", "app_installation_id", "compute_id", "access_key_id", "graph_id"],
  // The end user in whose name a program acts: any text.
  ...["ls_user_id"],
  // Accepted from clients that have them; nothing here is tagged.
  ...["tag_value_ids"],
]);
const alsoIds = new Set([
  "session",
  "run",
  "trace",
  "parent_run",
  "reference_example",
  "reference_examples",
  "reference_dataset",
  "dataset",
  "before",
  "source_tarball_path",
]);

type JsonSchema = { [key: string]: unknown };

/** Path parameters of a route; `{rest*}` is a path and no id. */
export function pathParameters({ spec }: Route): string[] {
  return [...spec.path.matchAll(/\{([\w.-]+)\}/g)].map(([, name]) => name!);
}

/** Fields of body and query that name something by its id, wherever they are nested. */
export function idFields({ spec }: Route): string[] {
  const found = new Set<string>();
  for (const schema of [spec.body, spec.query]) {
    if (!schema) continue;
    collect(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonSchema, found);
  }
  return [...found].sort();
}

function collect(schema: unknown, found: Set<string>): void {
  if (typeof schema !== "object" || schema === null) return;
  if (Array.isArray(schema)) {
    for (const each of schema) collect(each, found);
    return;
  }
  const { properties, ...rest } = schema as JsonSchema;
  for (const [name, property] of Object.entries((properties ?? {}) as JsonSchema)) {
    if (isId(name, property)) found.add(name);
    collect(property, found);
  }
  for (const each of Object.values(rest)) collect(each, found);
}

function isId(name: string, property: unknown): boolean {
  if (notOurs.has(name)) return false;
  if (/(^|_)ids?$/.test(name) || alsoIds.has(name)) return true;
  const own = JSON.stringify(property, (key, value) => (key === "properties" ? undefined : value));
  return own.includes('"format":"uuid"');
}
