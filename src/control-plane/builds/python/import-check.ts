import { constants, open } from "node:fs/promises";
import { z } from "zod";

const fault = z.object({
  what: z.string(),
  /** Whether no environment of a server mends it: a module, a name or the grammar. */
  missing: z.boolean(),
  type: z.string(),
  message: z.string(),
  file: z.string().optional(),
  line: z.number().optional(),
  package: z.string().optional(),
});
const result = z.object({ faults: z.array(fault) });

export type ImportFault = z.infer<typeof fault>;

const maxBytes = 4 * 1024 * 1024;

/**
 * What the check of the imports found; null when it did not finish. The project's user owns the file and may have
 * replaced it with anything.
 */
export async function readCheck(path: string): Promise<ImportFault[] | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ELOOP") return null;
    throw error;
  });
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    if (size > maxBytes) return null;
    const parsed = result.safeParse(JSON.parse(await file.readFile("utf8")));
    return parsed.success ? parsed.data.faults : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  } finally {
    await file.close();
  }
}

/** `graph agent (src/agent/graph.py, line 3): ModuleNotFoundError: No module named 'httpx'…`, from the project's folder. */
export function describeFault(fault: ImportFault, folders: readonly string[]): string {
  const own = (text: string) => folders.reduce((short, folder) => short.replaceAll(`${folder}/`, ""), text);
  const file = fault.file === undefined ? null : own(fault.file);
  const place = file === null ? "" : ` (${file}${fault.line === undefined ? "" : `, line ${fault.line}`})`;
  return `${fault.what}${place}: ${fault.type}: ${own(fault.message)}`;
}
