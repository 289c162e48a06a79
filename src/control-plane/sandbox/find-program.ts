import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** Where a program of this name is on a PATH; null when it is not. */
export async function findProgram(
  name: string,
  path = "/usr/local/bin:/usr/bin:/bin",
): Promise<string | null> {
  for (const folder of path.split(delimiter)) {
    // An empty part means the current folder, which holds none of our programs.
    if (folder !== "" && (await isProgram(join(folder, name)))) return join(folder, name);
  }
  return null;
}

/** Whether there is a file that may be run. */
export function isProgram(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
