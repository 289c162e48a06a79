import { rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { newId } from "../../platform/ids.ts";

/** Another process may have built the same a moment earlier; its result is as good. */
export async function moveInto(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
    await rm(from, { recursive: true, force: true });
  }
}

/** At once or not at all: a process that dies in between leaves no half of it where a whole one is looked for. */
export async function removeArtifactFolder(path: string): Promise<void> {
  const aside = join(dirname(path), `.gone-${newId()}`);
  try {
    await rename(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  await rm(aside, { recursive: true, force: true });
}
