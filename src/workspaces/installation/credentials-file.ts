import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../../platform/errors.ts";

/** What an operator needs to call this server, kept where only the operator can read it. */
export type Credentials = { url: string; workspaceId: string; apiKey: string };

const fileContent = z.object({ url: z.string(), workspace_id: z.string(), api_key: z.string() });

export function credentialsPath(dataDir: string): string {
  return join(dataDir, "credentials.json");
}

/** Null when the file does not exist or is not one of ours: a start then writes a new one. */
export async function readCredentials(dataDir: string): Promise<Credentials | null> {
  let text: string;
  try {
    text = await readFile(credentialsPath(dataDir), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new AppError({
      code: "credentials.unreadable",
      kind: "internal",
      message: `${credentialsPath(dataDir)} cannot be read. Let the user that runs Treadle read it, or delete it to get a new key.`,
      cause: error,
    });
  }
  const parsed = fileContent.safeParse(parseJson(text));
  if (!parsed.success) return null;
  return { url: parsed.data.url, workspaceId: parsed.data.workspace_id, apiKey: parsed.data.api_key };
}

/** Replaces the file in one step, so that a reader never sees half of it. */
export async function writeCredentials(dataDir: string, credentials: Credentials): Promise<string> {
  const path = credentialsPath(dataDir);
  const content = {
    url: credentials.url,
    workspace_id: credentials.workspaceId,
    api_key: credentials.apiKey,
  } satisfies z.infer<typeof fileContent>;
  await mkdir(dataDir, { recursive: true });
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await writeFile(draft, `${JSON.stringify(content, null, 2)}\n`, { flag: "wx", mode: 0o600 });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  return path;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
