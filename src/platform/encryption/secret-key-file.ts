import { randomBytes } from "node:crypto";
import { chmod, link, mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError } from "../errors.ts";
import { newSecret } from "../ids.ts";

/** One key per line: the first is in use, the others only open what a rotation has not reached yet. */
export type KeyFile = { current: string; previous: string[] };

export function secretKeyPath(dataDir: string): string {
  return join(dataDir, "secret.key");
}

/** Null when there is no file. */
export async function readKeyFile(path: string): Promise<KeyFile | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new AppError({
      code: "secret.key_file",
      kind: "internal",
      message: `The encryption key file ${path} cannot be read. Let the user that runs Treadle read it.`,
      cause: error,
    });
  }
  const lines = text.split("\n").map((line) => line.trim());
  const [current, ...previous] = lines.filter((line) => line !== "");
  if (current === undefined || [current, ...previous].some((key) => key.length < 16)) {
    throw new AppError({
      code: "secret.key_file",
      kind: "internal",
      message: `The encryption key file ${path} is empty or truncated. Restore it from a backup; nothing was changed.`,
    });
  }
  return { current, previous };
}

/** Never overwrites: when another process was first, its key is the one. */
export async function createKeyFile(path: string): Promise<KeyFile> {
  await mkdir(dirname(path), { recursive: true });
  const draft = await writeDraft(path, { current: newSecret(), previous: [] });
  try {
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
  const stored = await readKeyFile(path);
  if (!stored) throw new Error(`${path} vanished while it was being created`);
  return stored;
}

/** For a rotation: replaces the file in one step. */
export async function replaceKeyFile(path: string, keys: KeyFile): Promise<void> {
  const draft = await writeDraft(path, keys);
  await rename(draft, path);
}

async function writeDraft(path: string, keys: KeyFile): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(`${[keys.current, ...keys.previous].join("\n")}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await chmod(draft, 0o600);
  return draft;
}
