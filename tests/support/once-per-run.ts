import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { inject } from "vitest";
import { withFileLock } from "./components/file-lock.ts";

const longestMs = 300_000;

/**
 * A folder that the first test file of a run to need it fills; the others wait for it and use it as it is. It is
 * removed when the run ends. `make` fills the folder it is given.
 */
export async function oncePerRun(name: string, make: (folder: string) => Promise<unknown>): Promise<string> {
  const folder = join(inject("runFolder"), name);
  if (existsSync(folder)) return folder;
  await withFileLock(`${folder}.lock`, longestMs, async () => {
    if (existsSync(folder)) return;
    const unfinished = `${folder}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await mkdir(unfinished, { mode: 0o755 });
    await make(unfinished);
    await rename(unfinished, folder);
  });
  return folder;
}
