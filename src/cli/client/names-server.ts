import { existsSync } from "node:fs";
import { currentEnvironment } from "../../config/index.ts";
import type { GlobalOptions } from "../program.ts";
import { findLocalServer } from "./local-server.ts";
import { profilePath, readProfiles } from "./profile-file.ts";

/** Whether a server was named; a data folder or a database that is named wins over a kept profile. */
export async function namesServer(options: GlobalOptions): Promise<boolean> {
  const environment = currentEnvironment();
  if (options.url !== undefined || options.profile !== undefined) return true;
  if (options.dataDir !== undefined) return false;
  if (environment.TREADLE_URL || environment.TREADLE_PROFILE) return true;
  if (environment.TREADLE_DATA_DIR || environment.DATABASE_URL) return false;
  if ((await readProfiles(profilePath(environment))).current !== null) return true;
  // Below the folder a server was started in there is no data folder, but that server is meant.
  const local = await findLocalServer({ dataDir: undefined, cwd: process.cwd() });
  return local !== null && !existsSync(".treadle");
}
