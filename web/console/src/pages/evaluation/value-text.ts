const longest = 400;

/** What a person wants to read of inputs or outputs in one line: a lone text, the last message, or the JSON. */
export function valueText(value: unknown): string {
  const text = textOf(value).replaceAll(/\s+/g, " ").trim();
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (typeof value !== "object") return String(value);
  const message = lastMessage(value);
  if (message !== undefined) return message;
  const values = Object.values(value);
  if (values.length === 1 && !Array.isArray(value) && typeof values[0] !== "object") return String(values[0]);
  return JSON.stringify(value);
}

function lastMessage(value: object): string | undefined {
  const list = "messages" in value ? value.messages : value;
  const last = Array.isArray(list) ? (list.at(-1) as unknown) : undefined;
  if (typeof last !== "object" || last === null || !("content" in last)) return undefined;
  return typeof last.content === "string" ? last.content : JSON.stringify(last.content);
}
