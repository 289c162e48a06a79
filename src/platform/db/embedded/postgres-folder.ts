import { execFile } from "node:child_process";
import { chown, lstat, mkdir, readdir, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { prepareDataFolder } from "../../data-folder/data-folder.ts";
import { AppError } from "../../errors.ts";
import {
  completeLibraryLinks,
  copyPostgresBinaries,
  findPostgresBinaries,
  hasAllLibraryLinks,
  type PostgresBinaries,
} from "./postgres-binaries.ts";
import { locateCluster, makeSystemFolder } from "./postgres-location.ts";
import { choosePostgresUser, isRoot, type PostgresUser } from "./postgres-user.ts";

export type PostgresPlace = {
  /** Holds everything of this cluster, owned by the user Postgres runs as. */
  home: string;
  dataFolder: string;
  passwordFile: string;
  logFile: string;
  /** Names the port of the last start. */
  portFile: string;
  native: string;
  user: PostgresUser | undefined;
  /** What the operator should know about where things are. */
  notes: string[];
};

export const systemFolder = "/var/lib/treadle";

/** Decides where the cluster and its binaries live, and makes the folders. */
export async function preparePostgresPlace(
  dataDir: string,
  options: { systemRoot?: string; binaries?: PostgresBinaries } = {},
): Promise<PostgresPlace> {
  const systemRoot = options.systemRoot ?? systemFolder;
  await prepareDataFolder(dataDir);
  const ownFolder = await realpath(dataDir);
  const user = await choosePostgresUser(join(ownFolder, "postgres"));
  const notes: string[] = [];
  const { parent, elsewhere } = await locateCluster(ownFolder, user, systemRoot);
  if (elsewhere) {
    notes.push(
      `The database is in ${parent}, because PostgreSQL's user could not access the data folder. Include it in backups.`,
    );
  }
  const binaries = options.binaries ?? (await findPostgresBinaries());
  const native = await usableBinaries(binaries, user, systemRoot, notes);
  const home = join(parent, "postgres");
  await mkdir(home, { recursive: true, mode: 0o700 });
  await giveTo(home, user);
  return {
    home,
    dataFolder: join(home, "data"),
    passwordFile: join(home, "password"),
    logFile: join(ownFolder, "postgres.log"),
    portFile: join(ownFolder, "postgres.port"),
    native,
    user,
    notes,
  };
}

async function usableBinaries(
  binaries: PostgresBinaries,
  user: PostgresUser | undefined,
  systemRoot: string,
  notes: string[],
): Promise<string> {
  if (!(await hasAllLibraryLinks(binaries.native))) {
    await completeLibraryLinks(binaries.native).catch((error: unknown) => {
      throw new AppError({
        code: "database.start_failed",
        kind: "unavailable",
        retryable: false,
        message: `The embedded PostgreSQL in ${binaries.native} is not completely installed and cannot be completed by this user. Run npm ci with its install scripts, or npm rebuild.`,
        cause: error,
      });
    });
  }
  if (user === undefined || (await canRun(join(binaries.native, "bin", "postgres"), user)))
    return binaries.native;
  await makeSystemFolder(systemRoot);
  const copy = await copyPostgresBinaries(binaries, systemRoot);
  notes.push(
    `PostgreSQL runs from a copy in ${dirname(copy)}: ${user.name} cannot access the folder it was installed in.`,
  );
  return copy;
}

/** Tried rather than computed from modes: access lists and mount options count too. */
async function canRun(binary: string, user: PostgresUser): Promise<boolean> {
  try {
    await promisify(execFile)(binary, ["--version"], { uid: user.uid, gid: user.gid, cwd: "/" });
    return true;
  } catch {
    return false;
  }
}

/** Only the cluster's own folder changes hands; a folder of somebody else is refused with a sentence. */
async function giveTo(home: string, user: PostgresUser | undefined): Promise<void> {
  const owner = (await stat(home)).uid;
  if (isRoot()) {
    if (user !== undefined) await chownTree(home, user);
    return;
  }
  if (owner !== process.getuid?.()) {
    throw new AppError({
      code: "data_folder.unusable",
      kind: "unavailable",
      retryable: false,
      message: `The database folder ${home} belongs to user ${owner}, and Treadle runs as user ${process.getuid?.()}. Start Treadle as the same user as before, change the folder's owner (chown -R), or choose another one with TREADLE_DATA_DIR.`,
    });
  }
}

async function chownTree(path: string, user: PostgresUser): Promise<void> {
  const info = await lstat(path);
  // A folder already given away was given away whole, unless a start was interrupted half-way: the top goes last.
  if (info.uid === user.uid && info.gid === user.gid) return;
  if (info.isDirectory()) {
    for (const name of await readdir(path)) await chownTree(join(path, name), user);
  }
  if (!info.isSymbolicLink()) await chown(path, user.uid, user.gid);
}
