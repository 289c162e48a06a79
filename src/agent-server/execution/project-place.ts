import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const notOwn = /(^|\/)(node_modules|site-packages|\.venv|venv)\//;

/**
 * The line of the project's own code that is nearest to a failure: `graph.py:27`. From a JavaScript stack, whose
 * innermost call comes first, or a Python traceback, whose innermost call comes last.
 */
export function projectPlace(stack: string | undefined, folder: string): string | undefined {
  if (!stack) return undefined;
  const python = [...stack.matchAll(/^ *File "([^"\n]+)", line (\d+)/gm)].toReversed();
  const javascript = [...stack.matchAll(/^ *at (?:.*\()?((?:file:\/\/)?\/[^\n]+?):(\d+):\d+\)?$/gm)];
  for (const [, named = "", line] of [...python, ...javascript]) {
    const file = pathOf(named);
    if (file === undefined) continue;
    const path = relative(folder, file);
    if (!path.startsWith("..") && !path.startsWith(sep) && !notOwn.test(path)) return `${path}:${line}`;
  }
  return undefined;
}

/** What is loaded again has a mark behind its name. The project's code may write any stack, also one that names no file. */
function pathOf(named: string): string | undefined {
  if (!named.startsWith("file://")) return named;
  try {
    return fileURLToPath(named.replace(/[?#].*$/, ""));
  } catch {
    return undefined;
  }
}
