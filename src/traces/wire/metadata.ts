const maxKeys = 100;
const maxChars = 16_000;

/** What is filtered on: the first keys that fit, as JSON text the database accepts. */
export function readMetadata(metadata: Record<string, unknown>): string {
  let text = JSON.stringify(metadata);
  if (text.length > maxChars || Object.keys(metadata).length > maxKeys)
    text = JSON.stringify(bounded(metadata));
  return jsonbText(text);
}

/** JSON text without what jsonb refuses: NUL and half surrogates, which JSON spells as escapes. */
export function jsonbText(text: string): string {
  if (!text.includes("\\u")) return text;
  return text.replaceAll(/(?<!\\)((?:\\\\)*)\\u(?:0000|[dD][89a-fA-F][0-9a-fA-F]{2})/g, "$1\uFFFD");
}

function bounded(metadata: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  let left = maxChars;
  for (const key of Object.keys(metadata).slice(0, maxKeys)) {
    const size = key.length + (JSON.stringify(metadata[key])?.length ?? 0);
    if (size > left) continue;
    left -= size;
    kept[key] = metadata[key];
  }
  return kept;
}

/** The conversation a run belongs to. */
export function threadOf(metadata: Record<string, unknown>): string | null {
  for (const key of ["session_id", "conversation_id", "thread_id"]) {
    const value = metadata[key];
    if (typeof value === "string" && value !== "")
      return value.replaceAll("\0", "").slice(0, 500).toWellFormed();
    if (typeof value === "number") return String(value);
  }
  return null;
}
