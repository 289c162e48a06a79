/** `key=value` pairs as a filter of metadata. A value that reads as JSON (a number, true, null) is meant as such. */
export function readMetadata(text: string): { metadata: Record<string, unknown>; problem: string | null } {
  const metadata: Record<string, unknown> = {};
  for (const part of splitParts(text)) {
    const at = part.indexOf("=");
    if (at < 1) return { metadata: {}, problem: `Write ${part.slice(0, 40)} as key=value.` };
    metadata[part.slice(0, at).trim()] = readValue(part.slice(at + 1).trim());
  }
  return { metadata, problem: null };
}

/** At spaces, but not inside of quotes. */
function splitParts(text: string): string[] {
  return text.match(/[^\s"]*"[^"]*"|[^\s"]+/g) ?? [];
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Plain words need no quotes.
    return text;
  }
}
