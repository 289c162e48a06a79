import { randomUUID } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/** Which listener a data folder belongs to, so that it starts also while the platform is away. */
const content = z.object({ listener_id: z.guid().toLowerCase(), workspace_id: z.guid(), holder: z.guid() });
export type ListenerFile = z.output<typeof content>;

const pathIn = (dataDir: string) => join(dataDir, "listener.json");

export async function readListenerFile(dataDir: string): Promise<ListenerFile | null> {
  let text: string;
  try {
    text = await readFile(pathIn(dataDir), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  return content.parse(JSON.parse(text));
}

/** Wholly or not at all. */
export async function makeListenerFile(
  dataDir: string,
  facts: Omit<ListenerFile, "holder">,
): Promise<ListenerFile> {
  const made = { ...facts, holder: randomUUID() };
  const path = pathIn(dataDir);
  await writeFile(`${path}.new`, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
  return made;
}
