import { mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { extract, list, type ReadEntry } from "tar";
import { AppError, errorMessage } from "../../platform/errors.ts";
import { isInside } from "./source-tree.ts";

export type TarballLimits = { maxBytes: number; maxEntries: number };

/** Looks at every entry before anything is written, then unpacks. */
export async function unpackTarball(file: string, folder: string, limits: TarballLimits): Promise<void> {
  const root = resolve(folder);
  const problems: string[] = [];
  let bytes = 0;
  let entries = 0;
  const look = (entry: ReadEntry) => {
    entries += 1;
    bytes += entry.size;
    const problem = entryProblem(entry, root);
    if (problem && problems.length < 10) problems.push(problem);
  };
  try {
    await list({ file, strict: true, onReadEntry: look });
  } catch (error) {
    throw refused(`The uploaded archive is not a readable .tar.gz: ${errorMessage(error)}`, error);
  }
  if (problems.length > 0) {
    throw refused(`The uploaded archive holds entries that are not permitted:\n  ${problems.join("\n  ")}`);
  }
  if (entries === 0) throw refused("The uploaded archive is empty.");
  if (entries > limits.maxEntries)
    throw refused(`The uploaded archive holds more than ${limits.maxEntries} files.`);
  if (bytes > limits.maxBytes) {
    throw refused(
      `The uploaded archive unpacks to more than ${limits.maxBytes} bytes. Leave out what is not needed.`,
    );
  }
  await mkdir(root, { recursive: true });
  await extract({ file, cwd: root, strict: true, preserveOwner: false, noChmod: false });
}

function entryProblem(entry: ReadEntry, root: string): string | null {
  const name = entry.path;
  if (name.startsWith("/") || name.includes("\\") || !isInside(root, resolve(root, name))) {
    return `${name}: leads out of the archive`;
  }
  switch (entry.type) {
    case "File":
    case "OldFile":
    case "ContiguousFile":
    case "Directory":
    case "GNUDumpDir":
      return null;
    case "SymbolicLink":
      return linkProblem(name, resolve(dirname(join(root, name)), entry.linkpath ?? ""), root);
    case "Link":
      return linkProblem(name, resolve(root, entry.linkpath ?? ""), root);
    default:
      return `${name}: is a ${entry.type}, not a file or folder`;
  }
}

function linkProblem(name: string, target: string, root: string): string | null {
  return isInside(root, target) ? null : `${name}: is a link that leads out of the archive`;
}

function refused(message: string, cause?: unknown): AppError {
  return new AppError({ code: "build.archive_refused", kind: "invalid", message, cause });
}
