const dashed = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const bare = /^[0-9a-f]{32}$/;

/** An id in lower case with dashes; old clients send 32 digits without. Null when it is no uuid. */
export function normalizeUuid(value: unknown): string | null {
  if (typeof value !== "string") return null;
  if (dashed.test(value)) return value;
  const text = value.toLowerCase();
  if (dashed.test(text)) return text;
  if (!bare.test(text)) return null;
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join(
    "-",
  );
}
