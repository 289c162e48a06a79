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
 * Counts while an archive is read and stops the reading at the first limit it passes. `#stop` is the message to refuse
 * it with; what is wrong with single entries is collected, so that one answer names all of them.
 */
export class ArchiveGuard {
  readonly #root: string;
  readonly #limits: ArchiveLimits;
  readonly #problems: string[] = [];
  #stop: string | null = null;
  #entries = 0;
  #bytes = 0;

  constructor(root: string, limits: ArchiveLimits) {
    this.#root = root;
    this.#limits = limits;
  }

  add(entry: ArchiveEntry): void {
    const { maxFiles, maxBytes } = this.#limits;
    this.#entries += 1;
    this.#bytes += entry.size;
    if (this.#entries > maxFiles) this.#stop ??= `The uploaded archive holds more than ${maxFiles} files.`;
    else if (this.#bytes > maxBytes) this.#stop ??= tooLarge(this.#limits);
    const problem = entryProblem(entry, this.#root);
    if (problem && this.#problems.length < mostProblems) this.#problems.push(problem);
    else if (problem) this.#stop ??= "";
  }

  /** Bytes so far, before and after unpacking. */
  read(packed: number, unpacked: number): void {
    const { maxFiles, maxBytes } = this.#limits;
    if (unpacked > maxBytes + maxFiles * overheadBytes) this.#stop ??= tooLarge(this.#limits);
    if (unpacked > freeBytes && unpacked > packed * maxRatio) {
      this.#stop ??= `The uploaded archive unpacks to more than ${maxRatio} times its size, which no source code does.`;
    }
  }

  /** Whether there is no point in reading on. */
  isOver(): boolean {
    return this.#stop !== null;
  }

  /** Null when the archive may be unpacked. */
  verdict(): string | null {
    if (this.#problems.length > 0) {
      return `The uploaded archive holds entries that are not permitted:\n  ${this.#problems.join("\n  ")}`;
    }
    return this.#stop ?? (this.#entries === 0 ? "The uploaded archive is empty." : null);
  }
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
