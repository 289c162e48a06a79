import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, chmod, mkdir, readFile, rename, rm, stat, unlink, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { AppError, errorMessage } from "../errors.ts";

function errno(error: unknown): string | undefined {
  return error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
}

/** Makes the folder, closed to others (an existing one keeps its mode), and proves it can be written. */
export async function prepareDataFolder(path: string): Promise<{ created: boolean }> {
  let created = false;
  // Postgres never runs as root: the user it runs as must be able to pass through to its own folder inside.
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
  try {
    created = (await mkdir(path, { recursive: true })) !== undefined;
    if (created) await chmod(path, mode);
    const probe = join(path, `.write-check-${randomUUID()}`);
    try {
      // A file system can be full and still create empty files, so write a block.
      await writeFile(probe, Buffer.alloc(4096), { mode: 0o600 });
    } finally {
      await rm(probe, { force: true });
    }
  } catch (error) {
    throw await explainUnusable(path, error);
  }
  return { created };
}

async function explainUnusable(path: string, error: unknown): Promise<AppError> {
  const elsewhere = "or choose another folder with --data-dir or TREADLE_DATA_DIR";
  const unusable = (message: string) =>
    new AppError({ code: "data_folder.unusable", kind: "unavailable", message, cause: error });
  switch (errno(error)) {
    case "ENOSPC":
    case "EDQUOT":
      return new AppError({
        code: "data_folder.full",
        kind: "unavailable",
        message: `The disk of the data folder ${path} is full. Free some space there, ${elsewhere}.`,
        cause: error,
      });
    case "EROFS":
      return unusable(
        `The data folder ${path} is on a read-only file system. Mount it writable, ${elsewhere}.`,
      );
    case "ENOTDIR":
    case "EEXIST":
      return unusable(
        `The data folder ${path} cannot be created: it, or a folder above it, is a file. Move that file, ${elsewhere}.`,
      );
    case "EACCES":
    case "EPERM":
      return unusable(`${await describeOwner(path)} Give this user access, ${elsewhere}.`);
    default:
      return unusable(
        `The data folder ${path} cannot be used: ${errorMessage(error)}. Repair it, ${elsewhere}.`,
      );
  }
}

/** Names the nearest folder that exists, its owner and the user who is running, since one of them is wrong. */
async function describeOwner(path: string): Promise<string> {
  const me = userInfo();
  for (let folder = path; ; folder = dirname(folder)) {
    try {
      const { uid } = await stat(folder);
      const owner = uid === me.uid ? "" : ` it belongs to user ${uid},`;
      const which =
        folder === path ? `The data folder ${path}` : `The data folder ${path} cannot be created: ${folder}`;
      return `${which} is not writable:${owner} and Treadle runs as ${me.username} (user ${me.uid}).`;
    } catch (error) {
      if (folder === dirname(folder)) {
        return `${me.username} (user ${me.uid}) cannot access the data folder ${path}: ${errorMessage(error)}.`;
      }
    }
  }
}

/** True when this user may write there; for reports that must not create anything. */
export async function isWritable(path: string): Promise<boolean> {
  try {
    await access(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** How other commands on this machine reach the server that runs on a data folder. */
export type RuntimeFile = { pid: number; url: string; port: number; databaseUrl: string };

const runtimePath = (dataDir: string) => join(dataDir, "runtime.json");

export async function writeRuntimeFile(dataDir: string, runtime: RuntimeFile): Promise<void> {
  // Written aside and renamed: a reader sees the whole file or none.
  const temporary = `${runtimePath(dataDir)}.${process.pid}`;
  await writeFile(temporary, `${JSON.stringify(runtime, null, 2)}\n`, { mode: 0o600 });
  await rename(temporary, runtimePath(dataDir));
}

/** Only trustworthy while the folder is locked: a killed server leaves its file behind. */
export async function readRuntimeFile(dataDir: string): Promise<RuntimeFile | null> {
  try {
    return JSON.parse(await readFile(runtimePath(dataDir), "utf8")) as RuntimeFile;
  } catch (error) {
    if (errno(error) === "ENOENT") return null;
    throw error;
  }
}

export async function removeRuntimeFile(dataDir: string): Promise<void> {
  await unlink(runtimePath(dataDir)).catch((error) => {
    if (errno(error) !== "ENOENT") throw error;
  });
}
