import { hostname } from "node:os";
import type { Config } from "../config/index.ts";
import type { BootstrapConfig } from "../workspaces/installation/bootstrap.ts";
import {
  credentialsPath,
  readCredentials,
  writeCredentials,
} from "../workspaces/installation/credentials-file.ts";

/** An embedded database lies beside the file with its key; one that servers share gets its first key once. */
export async function bootstrapConfigOf(
  { apiKey, workspaceId, dataDir, databaseUrl }: Config,
  url: () => string,
): Promise<BootstrapConfig> {
  const rememberedKey = (await readCredentials(dataDir))?.apiKey;
  if (databaseUrl === undefined) return { apiKey, workspaceId, rememberedKey };
  const keyKeeping: BootstrapConfig["keyKeeping"] = {
    host: hostname(),
    path: credentialsPath(dataDir),
    keep: (made) => writeCredentials(dataDir, { url: url(), ...made }),
  };
  return { apiKey, workspaceId, rememberedKey, keyKeeping };
}

/** For the operator of a server whose administrator's key is somewhere else. */
export function keyElsewhereText({ host, path }: { host: string; path: string }): string {
  return `The administrator's key of this database was made on ${host} and is in ${path} there. Set TREADLE_API_KEY to it, or make another one with \`treadle keys create NAME\`.`;
}
