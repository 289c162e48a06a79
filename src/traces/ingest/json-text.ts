import { RefusedPart } from "./refused-part.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });
const maxDepth = 512;

/** The value of a JSON part, or the reason it is refused. */
export function parsePart(bytes: Buffer): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new RefusedPart("It is not valid UTF-8.");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RefusedPart("It is not valid JSON.");
  }
  if (bytes.byteLength > maxDepth * 2 && isDeeper(value, maxDepth)) {
    throw new RefusedPart(`It is nested deeper than ${maxDepth} levels.`);
  }
  return value;
}

export function parseObjectPart(bytes: Buffer): Record<string, unknown> {
  const value = parsePart(bytes);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new RefusedPart("It must be a JSON object.");
  return value as Record<string, unknown>;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key];
    if (typeof inner === "object" && isDeeper(inner, levels - 1)) return true;
  }
  return false;
}
