import { stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { readRuntimeFile } from "../../platform/data-folder/data-folder.ts";
import { credentialsPath, readCredentials } from "../../workspaces/installation/credentials-file.ts";
import type { LocalServer } from "./connection.ts";

/**
 * The server whose data folder is named, or is `.treadle` here or in a folder above: people start it once and work in
 * folders below.
 */
export async function findLocalServer(options: {
  dataDir: string | undefined;
  cwd: string;
}): Promise<LocalServer | null> {
  if (options.dataDir !== undefined) return readLocalServer(resolve(options.cwd, options.dataDir));
  for (let folder = options.cwd; ; folder = dirname(folder)) {
    const dataDir = join(folder, ".treadle");
    if (await isOwn(credentialsPath(dataDir))) return readLocalServer(dataDir);
    if (folder === dirname(folder)) return null;
  }
}

/** Another user's file in a folder above, such as /tmp, must not choose the server that gets the sources. */
async function isOwn(path: string): Promise<boolean> {
  // One that is gone, or may not be looked at, is not ours to use.
  const found = await stat(path).catch(() => null);
  return found !== null && (process.getuid === undefined || found.uid === process.getuid());
}

async function readLocalServer(dataDir: string): Promise<LocalServer | null> {
  const credentials = await readCredentials(dataDir);
  if (credentials === null) return null;
  // While it runs it may listen elsewhere than at its first start.
  const running = await readRuntimeFile(dataDir);
  const urls = [running?.url, credentials.url].filter((url) => url !== undefined);
  const { apiKey, workspaceId } = credentials;
  return { path: credentialsPath(dataDir), urls: [...new Set(urls)], apiKey, workspaceId };
}
