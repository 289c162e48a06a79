import { posix } from "node:path";

/** An entry as its archive describes it. */
export type ArchiveEntry = { path: string; type?: string; linkpath?: string | undefined };

/** An archive with entries that would be written outside the folder it is unpacked into, or with more than it may hold. */
export class UnsafeArchive extends Error {}

/**
 * For one unpacking, as the `filter` of tar: leaves out what would be written outside the folder. Links may lead anywhere,
 * as that of a Python environment to its interpreter does, and nothing is written through them.
 */
export class UnpackGuard {
  readonly #links = new Set<string>();
  readonly #maxEntries: number;
  #entries = 0;
  #refused: string | undefined;

  constructor(maxEntries = Number.POSITIVE_INFINITY) {
    this.#maxEntries = maxEntries;
  }

  permits({ path, type, linkpath }: ArchiveEntry): boolean {
    this.#entries += 1;
    if (this.#entries > this.#maxEntries) return false;
    const own = plainPath(path);
    const permitted =
      own !== undefined && !this.#crossesLink(own) && (type !== "Link" || this.#isInside(linkpath ?? ""));
    if (!permitted) this.#refused ??= path;
    else if (type === "SymbolicLink") this.#links.add(own);
    return permitted;
  }

  /** At the end of the archive: one that holds such an entry is not to be used at all. */
  check(): void {
    this.checkCount();
    if (this.#refused === undefined) return;
    throw new UnsafeArchive(
      `The archive holds an entry that leads out of its folder: ${JSON.stringify(this.#refused)}.`,
    );
  }

  /** While it is read: there is no point in reading on. */
  checkCount(): void {
    if (this.#entries > this.#maxEntries)
      throw new UnsafeArchive(`The archive holds more than ${this.#maxEntries} files and folders.`);
  }

  #isInside(target: string): boolean {
    const path = plainPath(target);
    return path !== undefined && !this.#crossesLink(path);
  }

  /** Whether it is, or lies below, what was a link earlier in the archive. */
  #crossesLink(path: string): boolean {
    for (let part = path; part !== "."; part = posix.dirname(part)) if (this.#links.has(part)) return true;
    return false;
  }
}

/** Without what has no meaning; undefined when it is absolute or goes upwards. */
function plainPath(path: string): string | undefined {
  if (posix.isAbsolute(path) || path.split("/").includes("..")) return undefined;
  return posix.normalize(path).replace(/\/+$/, "");
}
