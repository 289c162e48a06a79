import { dirname, join, resolve } from "node:path";
import { isInside } from "./source-tree.ts";

export type ArchiveLimits = { maxBytes: number; maxFiles: number };

/** One entry, as the archive's header describes it. */
export type ArchiveEntry = { path: string; type: string; size: number; linkpath?: string | undefined };

const maxDepth = 64;
const maxPath = 1_024;
const maxName = 255;
/** gzip can promise a thousand to one; what people pack stays far below. */
const maxRatio = 200;
const freeBytes = 32 * 1024 * 1024;
/** A header, its long name, and what fills up the last block. */
const overheadBytes = 2_048;
const mostProblems = 10;

/**
 * Counts while an archive is read and stops the reading at the first limit it passes. `stop` is the message to refuse
 * it with; what is wrong with single entries is collected, so that one answer names all of them.
 */
export function createArchiveGuard(root: string, limits: ArchiveLimits) {
  const problems: string[] = [];
  let stop: string | null = null;
  let entries = 0;
  let bytes = 0;

  function add(entry: ArchiveEntry): void {
    entries += 1;
    bytes += entry.size;
    if (entries > limits.maxFiles) stop ??= `The uploaded archive holds more than ${limits.maxFiles} files.`;
    else if (bytes > limits.maxBytes) stop ??= tooLarge(limits);
    const problem = entryProblem(entry, root);
    if (problem && problems.length < mostProblems) problems.push(problem);
    else if (problem) stop ??= "";
  }

  /** Bytes so far, before and after unpacking. */
  function read(packed: number, unpacked: number): void {
    if (unpacked > limits.maxBytes + limits.maxFiles * overheadBytes) stop ??= tooLarge(limits);
    if (unpacked > freeBytes && unpacked > packed * maxRatio) {
      stop ??= `The uploaded archive unpacks to more than ${maxRatio} times its size, which no source code does.`;
    }
  }

  return {
    add,
    read,
    /** Whether there is no point in reading on. */
    isOver: () => stop !== null,
    /** Null when the archive may be unpacked. */
    verdict(): string | null {
      if (problems.length > 0) {
        return `The uploaded archive holds entries that are not permitted:\n  ${problems.join("\n  ")}`;
      }
      return stop ?? (entries === 0 ? "The uploaded archive is empty." : null);
    },
  };
}

function tooLarge({ maxBytes }: ArchiveLimits): string {
  return `The uploaded archive unpacks to more than ${maxBytes} bytes. Leave out what is not needed.`;
}

function entryProblem(entry: ArchiveEntry, root: string): string | null {
  const name = entry.path;
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  const shown = name.length > 200 ? `${name.slice(0, 200)}…` : name;
  if (name.length > maxPath || parts.some((part) => Buffer.byteLength(part) > maxName))
    return `${shown}: has too long a name`;
  if (parts.length > maxDepth) return `${shown}: lies more than ${maxDepth} folders deep`;
  if (/\p{Cc}/u.test(name)) return `${JSON.stringify(shown)}: has control characters in its name`;
  if (
    name.startsWith("/") ||
    name.includes("\\") ||
    parts.includes("..") ||
    !isInside(root, resolve(root, name))
  ) {
    return `${shown}: leads out of the archive`;
  }
  switch (entry.type) {
    case "File":
    case "OldFile":
    case "ContiguousFile":
    case "Directory":
    case "GNUDumpDir":
      return null;
    case "SymbolicLink":
      return linkProblem(shown, resolve(dirname(join(root, name)), entry.linkpath ?? ""), entry, root);
    case "Link":
      return linkProblem(shown, resolve(root, entry.linkpath ?? ""), entry, root);
    default:
      return `${shown}: is a ${entry.type}, not a file or folder`;
  }
}

function linkProblem(
  name: string,
  target: string,
  { linkpath = "" }: ArchiveEntry,
  root: string,
): string | null {
  const leads = linkpath.startsWith("/") || linkpath.length > maxPath || !isInside(root, target);
  return leads ? `${name}: is a link that leads out of the archive` : null;
}
