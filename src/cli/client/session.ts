import { currentEnvironment } from "../../config/index.ts";
import { type GlobalOptions, readVersion } from "../program.ts";
import { createOutput, type Output } from "../terminal/output.ts";
import { type ApiClient, createApiClient } from "./api-client.ts";
import { type Connection, resolveConnection } from "./connection.ts";
import { findLocalServer } from "./local-server.ts";
import { profilePath, readProfiles } from "./profile-file.ts";

/** What a command that talks to a server works with. */
export type Session = { output: Output; api: ApiClient; connection: Connection };

export async function openSession(options: GlobalOptions): Promise<Session> {
  const connection = await findConnection(options);
  return {
    output: createOutput(options),
    connection,
    api: createApiClient(connection, { version: readVersion() }),
  };
}

export async function findConnection(options: GlobalOptions): Promise<Connection> {
  const environment = currentEnvironment();
  const dataDir = options.dataDir ?? (environment.TREADLE_DATA_DIR || undefined);
  return resolveConnection({
    flags: options,
    environment,
    profiles: await readProfiles(profilePath(environment)),
    local: await findLocalServer({ dataDir, cwd: process.cwd() }),
  });
}
