import { isObject } from "./json-object.ts";

/** What a queue is judged by. */
export function rubricKeys(items: unknown): string[] {
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown) =>
    isObject(item) && typeof item.feedback_key === "string" ? [item.feedback_key] : [],
  );
}

/** Keys as users type them. */
export function readKeys(text: string): string[] {
  const keys = text.split(",").map((key) => key.trim());
  return [...new Set(keys)].filter((key) => key !== "");
}

export type Scores = Readonly<Record<string, number | undefined>>;

/** Where the next thumb goes: to the first key without one, else it changes the last. */
export function nextKey(keys: readonly string[], scores: Scores): string {
  return keys.find((key) => scores[key] === undefined) ?? keys.at(-1)!;
}
