import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AgentConfig } from "../../config/index.ts";
import { prepareDataFolder } from "../../platform/data-folder/data-folder.ts";
import { lockDataFolder } from "../../platform/data-folder/data-folder-lock.ts";

/** The embedded database is in the folder, so only one process may use it. */
export async function lockAgentFolder(config: Pick<AgentConfig, "databaseUrl" | "dataDir">) {
  if (config.databaseUrl !== undefined) return undefined;
  await prepareDataFolder(config.dataDir);
  await keepOutOfGit(config.dataDir);
  return lockDataFolder(config.dataDir);
}

/** It lies in people's own projects, where a database should not be committed. */
async function keepOutOfGit(dataDir: string): Promise<void> {
  await writeFile(join(dataDir, ".gitignore"), "*\n", { flag: "wx" }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    },
  );
}
