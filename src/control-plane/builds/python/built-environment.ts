import { lstat, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Mount } from "../../sandbox/bubblewrap.ts";
import { environmentFolder } from "../python-project.ts";
import type { Interpreters } from "./find-interpreters.ts";
import { interpreterMounts } from "./interpreter.ts";

/** Whether the Python that a built project's environment leads to is still there; a project without one needs none. */
export async function hasItsPython(folder: string, configPath: string): Promise<boolean> {
  const program = programIn(folder, configPath);
  return (await isThere(program)) ? (await whereTo(program)) !== null : true;
}

/**
 * What a server of a built project has to see of this machine's Pythons. Where the environment leads to is the project's
 * own word: only a Python that was found on this machine is shown.
 */
export async function pythonMounts(
  interpreters: Interpreters,
  folder: string,
  configPath: string,
): Promise<Mount[]> {
  const program = programIn(folder, configPath);
  const target = (await isThere(program)) ? await whereTo(program) : null;
  if (target === null) return [];
  const { usable } = await interpreters.find({ forOthers: false });
  const known = usable.find(({ executable }) => executable === target);
  return known ? interpreterMounts(known) : [];
}

function programIn(folder: string, configPath: string): string {
  return join(folder, dirname(configPath), environmentFolder, "bin", "python");
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return false;
      throw error;
    },
  );
}

function whereTo(path: string): Promise<string | null> {
  return realpath(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR" || error.code === "ELOOP") return null;
    throw error;
  });
}
