import { AppError } from "../../../platform/errors.ts";

/** A message to say, or a whole input as JSON. */
export function parseInput(text: string): Record<string, unknown> {
  if (/^\s*\{/.test(text)) {
    try {
      return JSON.parse(text) as Record<string, unknown>;
    } catch (error) {
      throw new AppError({
        code: "client.input_invalid",
        kind: "invalid",
        message: `--input starts like a JSON object but is none: ${String(error)}`,
        cause: error,
      });
    }
  }
  return { messages: [{ role: "user", content: text }] };
}

/** What a graph that waits is answered: JSON where it is JSON, and the text itself otherwise. */
export function parseResume(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
