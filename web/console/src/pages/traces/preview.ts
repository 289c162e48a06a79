/** The essential part of a payload's beginning: the last message, else its first texts. It is often cut in the middle. */
export function previewText(json: string | null | undefined): string {
  if (!json || json === "{}" || json === "null") return "";
  const message = lastMatch(
    json,
    /"(?:content|text|input|output|question|answer|query|result)"\s*:\s*"((?:[^"\\]|\\.)*)/g,
  );
  if (message) return plain(message);
  const texts = [...json.matchAll(/:\s*(?:"((?:[^"\\]|\\.)+)|(-?\d[\d.eE+-]*|true|false))/g)];
  if (texts.length > 0) return plain(texts.map(([, text, other]) => text ?? other).join(" · "));
  return plain(json);
}

function lastMatch(text: string, pattern: RegExp): string | undefined {
  return [...text.matchAll(pattern)].map(([, found]) => found ?? "").findLast((found) => found.trim() !== "");
}

const escapes: Readonly<Record<string, string>> = { n: " ", r: " ", t: " ", b: " ", f: " " };

function plain(text: string): string {
  return text
    .replaceAll(/\\u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(/\\(.)/g, (_, character: string) => escapes[character] ?? character)
    .replaceAll(/\s+/g, " ")
    .trim();
}
