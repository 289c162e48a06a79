import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chown, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { AppError } from "../../errors.ts";
import { exists } from "../../exists.ts";
import { newSecret } from "../../ids.ts";
import { startFailure } from "./postgres-failure.ts";
import type { PostgresPlace } from "./postgres-folder.ts";

export const superuser = "treadle";
const unfinishedPrefix = "data.initializing-";

/**
 * Makes the cluster once. A start killed half-way leaves no cluster, and the next one begins from scratch. `onMaking`
 * is called when a cluster is made, which takes about a second.
 */
export async function initPostgres(
  place: PostgresPlace,
  { durable, onMaking }: { durable: boolean; onMaking?: (() => void) | undefined },
): Promise<{ password: string }> {
  const initialized = await exists(join(place.dataFolder, "PG_VERSION"));
  const password = await readPassword(place, initialized);
  if (initialized) return { password };
  await removeUnfinished(place.home);
  // A name of its own: the initdb of a killed start may still be writing to the one before.
  const temporary = join(place.home, `${unfinishedPrefix}${randomBytes(4).toString("hex")}`);
  await mkdir(temporary, { mode: 0o700 });
  if (place.user !== undefined) await chown(temporary, place.user.uid, place.user.gid);
  const options = [
    `--pgdata=${temporary}`,
    `--username=${superuser}`,
    `--pwfile=${place.passwordFile}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
    ...(durable ? [] : ["--no-sync"]),
  ];
  try {
    const making = promisify(execFile)(join(place.native, "bin", "initdb"), options, {
      cwd: place.home,
      env: postgresEnvironment,
      ...(place.user === undefined ? {} : { uid: place.user.uid, gid: place.user.gid }),
    });
    onMaking?.();
    await making;
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    const { stderr } = error as { stderr?: string };
    throw startFailure({ place, output: stderr ?? "", doing: "made", cause: error });
  }
  await rename(temporary, place.dataFolder);
  return { password };
}

/** Nothing of the caller's environment: PGDATA, PGPORT and locales would change what Postgres does. */
export const postgresEnvironment = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

async function readPassword(place: PostgresPlace, initialized: boolean): Promise<string> {
  const stored = await readFile(place.passwordFile, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return "";
  });
  if (stored.trim() !== "") return stored.trim();
  if (initialized) {
    throw new AppError({
      code: "database.start_failed",
      kind: "unavailable",
      retryable: false,
      message: `The database in ${place.dataFolder} exists, but the file with its password (${place.passwordFile}) does not. Restore that file from a backup.`,
    });
  }
  const password = newSecret();
  // Complete before it has its name: PostgreSQL's user must be able to read what the next start finds.
  const temporary = `${place.passwordFile}.new`;
  await writeFile(temporary, `${password}\n`, { mode: 0o600, flush: true });
  if (place.user !== undefined) await chown(temporary, place.user.uid, place.user.gid);
  await rename(temporary, place.passwordFile);
  return password;
}

async function removeUnfinished(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (!name.startsWith(unfinishedPrefix)) continue;
    await rm(join(home, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}
