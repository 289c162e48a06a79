import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError } from "../../errors.ts";
import { exists } from "../../exists.ts";
import type { PostgresUser } from "./postgres-user.ts";

/** In the data folder: where the cluster is, when it is not in the data folder itself. */
const pointerName = "postgres-location.txt";
/** Beside a cluster kept elsewhere: the data folder it belongs to. */
const originName = "origin.txt";

/**
 * The folder the cluster is in, or will be made in: the data folder itself, unless the user PostgreSQL runs as may not
 * enter it. An existing cluster is always found again, even if settings changed meanwhile: starting silently with an
 * empty one would look like lost data.
 */
export async function locateCluster(
  dataDir: string,
  user: PostgresUser | undefined,
  systemRoot: string,
): Promise<{ parent: string; elsewhere: boolean }> {
  const pointer = (await readText(join(dataDir, pointerName)))?.trim();
  if (pointer !== undefined) {
    await checkPointer(dataDir, pointer);
    return { parent: pointer, elsewhere: true };
  }
  if (user === undefined || (await canEnter(dataDir, user))) return { parent: dataDir, elsewhere: false };
  if (await exists(join(dataDir, "postgres", "data", "PG_VERSION"))) {
    throw unusable(
      `The database is in ${join(dataDir, "postgres")}, but PostgreSQL's user ${user.name} can no longer access that folder. Allow access (chmod o+x) to it and the folders above, or start Treadle as the user who owns them.`,
    );
  }
  const parent = join(systemRoot, createHash("sha256").update(dataDir).digest("hex").slice(0, 16));
  await makeSystemFolder(systemRoot);
  await makeSystemFolder(parent);
  // The pointer last: it is only believed together with its other end.
  await writeWhole(join(parent, originName), `${dataDir}\n`);
  await writeWhole(join(dataDir, pointerName), `${parent}\n`);
  return { parent, elsewhere: true };
}

async function checkPointer(dataDir: string, parent: string): Promise<void> {
  const origin = (await readText(join(parent, originName)))?.trim();
  if (origin === dataDir) return;
  const pointerFile = join(dataDir, pointerName);
  if (origin === undefined) {
    throw unusable(
      `The database of ${dataDir} was in ${parent}, which no longer exists. Restore that folder from a backup, or delete ${pointerFile} to start with an empty database.`,
    );
  }
  if (await exists(join(origin, pointerName))) {
    throw unusable(
      `${dataDir} is a copy of ${origin}, whose database is in ${parent}. Use that one, or delete ${pointerFile} to start with an empty database.`,
    );
  }
  // The data folder was moved; its database follows.
  await writeWhole(join(parent, originName), `${dataDir}\n`);
}

async function canEnter(folder: string, user: PostgresUser): Promise<boolean> {
  for (let path = folder; ; path = dirname(path)) {
    const { mode, uid, gid } = await stat(path);
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

export async function makeSystemFolder(path: string): Promise<void> {
  const created = await mkdir(path, { recursive: true }).catch((error: unknown) => {
    throw unusable(
      `PostgreSQL needs the folder ${path}, because its user cannot access the folder Treadle is started in, and it cannot be created. Create it, start Treadle as an ordinary user, or set DATABASE_URL.`,
      error,
    );
  });
  // Others pass through to what is theirs, and see nothing; an existing folder keeps its mode.
  if (created !== undefined) await chmod(path, 0o711);
}

async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

function unusable(message: string, cause?: unknown): AppError {
  return new AppError({
    code: "data_folder.unusable",
    kind: "unavailable",
    retryable: false,
    message,
    cause,
  });
}
