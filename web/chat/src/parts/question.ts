const names = ["question", "message", "prompt", "instruction", "description", "text"] as const;

/** What a run asks, in words where it has some; the rest is shown as it is. */
export function readQuestion(ask: unknown): { words: string | undefined; data: unknown } {
  if (typeof ask === "string") return { words: ask, data: undefined };
  if (typeof ask !== "object" || ask === null || Array.isArray(ask)) return { words: undefined, data: ask };
  const fields = ask as Record<string, unknown>;
  const name = names.find((one) => typeof fields[one] === "string" && fields[one] !== "");
  if (name === undefined) return { words: undefined, data: ask };
  const { [name]: words, ...rest } = fields;
  return { words: words as string, data: Object.keys(rest).length === 0 ? undefined : rest };
}

/** A graph may expect data; words are an answer too. */
export function readAnswer(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON, so it is words.
    return text;
  }
}
