const unicodeEscape = Buffer.from("\\u");
const backslash = 0x5c;
const replacement = Buffer.from("fffd");

/**
 * Replaces half surrogates in JSON text: `"\ud83d"` alone is valid JSON and no valid text, and one of them makes
 * readers refuse a whole file. Done in place, because the replacement character is as long.
 */
export function replaceLoneSurrogates(source: Buffer, start: number, end: number): void {
  const text = source.subarray(start, end);
  for (let at = text.indexOf(unicodeEscape); at !== -1; at = text.indexOf(unicodeEscape, at)) {
    if (isEscaped(text, at)) {
      at += 2;
      continue;
    }
    const kind = surrogateAt(text, at);
    if (kind === "high" && surrogateAt(text, at + 6) === "low") {
      at += 12;
      continue;
    }
    if (kind !== undefined) replacement.copy(text, at + 2);
    at += 6;
  }
}

function isEscaped(text: Buffer, at: number): boolean {
  let before = at;
  while (before > 0 && text[before - 1] === backslash) before--;
  return (at - before) % 2 === 1;
}

function surrogateAt(text: Buffer, at: number): "high" | "low" | undefined {
  if (text[at] !== backslash || text[at + 1] !== 0x75) return undefined;
  const first = (text[at + 2] ?? 0) | 0x20;
  if (first !== 0x64) return undefined;
  const second = (text[at + 3] ?? 0) | 0x20;
  if (second === 0x38 || second === 0x39 || second === 0x61 || second === 0x62) return "high";
  return second >= 0x63 && second <= 0x66 ? "low" : undefined;
}
