export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export type ReadObject = { value: Record<string, unknown> | null } | { problem: string };

/** A JSON object that a user typed; an empty text is null if it may be left out. */
export function readObject(text: string, { optional = false } = {}): ReadObject {
  if (text.trim() === "")
    return optional ? { value: null } : { problem: "Write a JSON object, for example {}." };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `This is not valid JSON. ${error instanceof Error ? error.message : ""}`.trim() };
  }
  if (isObject(value)) return { value };
  return { problem: 'This must be a JSON object: {"name": value}.' };
}

/** For a text field: nothing for null. */
export function writeObject(value: unknown): string {
  return value === null || value === undefined ? "" : JSON.stringify(value, null, 2);
}
