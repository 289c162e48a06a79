import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** `file:///p/a.ts:3:5`, `/p/a.ts:3:5` or, at the top of a stack of the parser, without a column. */
const frame = /^(?:at (?:async )?)?(?:.*\()?((?:file:\/\/)?\/.+?):(\d+)(?::\d+)?\)?$/;

/** The innermost line of the project's own files in the stack of an error; packages are not its own. */
export function errorPlace(error: unknown, directory: string): { file: string; line: number } | undefined {
  const { stack } = error as { stack?: unknown };
  if (typeof stack !== "string") return undefined;
  const own = join(directory, "/");
  for (const text of stack.split("\n")) {
    const [, place, line] = frame.exec(text.trim()) ?? [];
    if (!place) continue;
    const file = place.startsWith("file:") ? fileURLToPath(place) : place;
    if (file.startsWith(own) && !file.includes("/node_modules/")) return { file, line: Number(line) };
  }
  return undefined;
}
