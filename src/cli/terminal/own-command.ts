import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { programFile } from "../../platform/package-facts.ts";

/** How people call this program from any folder: by its name if their shell finds it, otherwise by its file. */
export async function ownCommand(environment: Readonly<Record<string, string | undefined>>): Promise<string> {
  const folders = (environment.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const looks = folders.map((folder) => isProgram(join(folder, "treadle")));
  return (await Promise.all(looks)).includes(true) ? "treadle" : `node ${shellWord(programFile)}`;
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    // Absent, or not to be run: a shell does not find it either.
    return false;
  }
}

/** As a shell reads it as one word. */
export function shellWord(text: string): string {
  return /^[\w./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
