import { randomBytes } from "node:crypto";
import { v5, v7 } from "uuid";

/** Time-ordered id for every row we create: index-friendly and sortable by creation. */
export function newId(): string {
  return v7();
}

/** The same name always gives the same id. */
export function nameId(name: string, namespace: string): string {
  return v5(name, namespace);
}

/** Random text for secrets and tokens: 32 bytes, URL-safe. */
export function newSecret(bytes = 32): string {
  return randomBytes(bytes).toString("base64url");
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}
