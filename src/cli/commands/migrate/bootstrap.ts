import { bootstrapConfigOf, keyElsewhereText } from "../../../app/bootstrap-config.ts";
import type { Config } from "../../../config/index.ts";
import { systemClock } from "../../../platform/clock.ts";
import { prepareDataFolder } from "../../../platform/data-folder/data-folder.ts";
import { openDatabase } from "../../../platform/db/connection/open-database.ts";
import { openSecretBox } from "../../../platform/encryption/encryption-keys.ts";
import type { Logger } from "../../../platform/logger.ts";
import { credentialsPath } from "../../../workspaces/installation/credentials-file.ts";
import { createWorkspaces } from "../../../workspaces/workspaces.ts";

export type FirstKey = { workspaceId: string; apiKeyOrigin: string; text: string };

/**
 * The first workspace and key of a database that servers share. Null for an embedded database, and without the
 * encryption key of the servers: one that is made up here would not be theirs.
 */
export async function bootstrap(config: Config, logger: Logger): Promise<FirstKey | null> {
  const { databaseUrl: url, secretKey, dataDir } = config;
  if (url === undefined || secretKey === undefined) return null;
  await prepareDataFolder(dataDir);
  const database = openDatabase({ url, poolSize: 3, logger, applicationName: "treadle migrate" });
  try {
    const box = await openSecretBox({ dataDir, secretKey, database, logger });
    const workspaces = createWorkspaces({ database, secretBox: box.secretBox, clock: systemClock, logger });
    try {
      const publicUrl = () => config.publicUrl ?? `http://127.0.0.1:${config.port}`;
      const made = await workspaces.bootstrap(await bootstrapConfigOf(config, publicUrl));
      const { workspaceId, apiKeyOrigin } = made;
      const text =
        made.apiKeyOrigin === "elsewhere"
          ? keyElsewhereText(made.keyPlace)
          : made.apiKeyOrigin === "generated"
            ? `The administrator's key was made and is in ${credentialsPath(dataDir)}.`
            : "The administrator's key is the one that was given.";
      return { workspaceId, apiKeyOrigin, text };
    } finally {
      await workspaces.stop();
      await box.stop();
    }
  } finally {
    await database.close();
  }
}
