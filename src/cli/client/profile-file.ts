import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import { AppError, errorMessage } from "../../platform/errors.ts";
import type { Profiles } from "./connection.ts";

const content = z.object({
  current: z.string().nullable().default(null),
  profiles: z
    .record(
      z.string(),
      z.object({ url: z.string(), api_key: z.string().optional(), workspace_id: z.string().optional() }),
    )
    .default({}),
});

export function profilePath(environment: Readonly<Record<string, string | undefined>>): string {
  const base = environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), ".config");
  return join(base, "treadle", "profiles.json");
}

export async function readProfiles(path: string): Promise<Profiles> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return { current: null, profiles: {} };
    throw unusable(path, error);
  }
  try {
    return content.parse(JSON.parse(text));
  } catch (error) {
    throw unusable(path, error);
  }
}

/** Keys are in it: closed to others, and replaced in one step. */
export async function writeProfiles(path: string, profiles: Profiles): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(draft, `${JSON.stringify(profiles, null, 2)}\n`, { flag: "wx", mode: 0o600 });
    await chmod(draft, 0o600);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

function unusable(path: string, cause: unknown): AppError {
  return new AppError({
    code: "client.profiles_unreadable",
    kind: "invalid",
    message: `The profiles in ${path} cannot be read: ${errorMessage(cause)}. Correct the file, or remove it and run \`treadle login\`.`,
    cause,
  });
}
