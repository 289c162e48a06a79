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

type RawNumbers = { rawJSON(text: string): unknown };

/** The value with numbers as they were written, for writing it out again: parsed, a long one would be rounded. */
export function parseExactText(text: string): unknown {
  if (!hasLongNumber(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === "number" && context?.source !== undefined && String(value) !== context.source
      ? (JSON as unknown as RawNumbers).rawJSON(context.source)
      : value,
  );
}

/** The same for the text of a part; undefined where no number of it can be rounded. */
export function parseExactly(bytes: Buffer): unknown {
  const text = utf8.decode(bytes);
  return hasLongNumber(text) ? parseExactText(text) : undefined;
}

/** Numbers of up to fifteen digits are kept by parsing; longer ones may not be. */
function hasLongNumber(text: string): boolean {
  return /[\d.]{16}/.test(text);
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
