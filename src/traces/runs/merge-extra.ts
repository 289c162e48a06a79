import { parseExactText } from "../wire/json-text.ts";
import { readMetadata } from "../wire/metadata.ts";

/**
 * `later` on top of `earlier`: key by key, and within `metadata` and its like key by key again. A key that is null
 * takes nothing away. Numbers stay as they were written.
 */
export function mergeExtra(earlier: Buffer, later: Buffer): Buffer {
  const [before, after] = [parseExactText(earlier.toString("utf8")), parseExactText(later.toString("utf8"))];
  if (!isPlain(after)) return isPlain(before) ? earlier : later;
  if (!isPlain(before)) return later;
  const merged = Object.entries(after).map(([key, value]) => {
    const known = Object.hasOwn(before, key) ? before[key] : undefined;
    if (isPlain(known) && isPlain(value)) return [key, { ...known, ...value }];
    return [key, value ?? known ?? null];
  });
  return Buffer.from(JSON.stringify({ ...before, ...Object.fromEntries(merged) }));
}

/** What is filtered on, of the merged `extra`. */
export function mergeMetadata(earlier: string, later: string): string {
  if (earlier === "{}") return later;
  if (later === "{}") return earlier;
  return readMetadata({ ...(JSON.parse(earlier) as object), ...(JSON.parse(later) as object) });
}

type RawNumbers = { isRawJSON(value: unknown): boolean };

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return !(JSON as unknown as RawNumbers).isRawJSON(value);
}
