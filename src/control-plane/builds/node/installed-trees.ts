import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  statfs,
  utimes,
  writeFile,
} from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { exists } from "../../../platform/exists.ts";
import { newId } from "../../../platform/ids.ts";
import { KeyedLock } from "../../../platform/keyed-lock.ts";
import { moveInto, removeArtifactFolder } from "../artifact-folder.ts";
import type { BuildPlace } from "../build-request.ts";
import { runStep } from "../build-step.ts";
import { type BuildUser, own } from "../build-user.ts";
import { isInside } from "../source-tree.ts";
import type { KnownInstall } from "./install-key.ts";
import { type KeptTree, type TreeLimits, treesBeyond } from "./tree-eviction.ts";

export type InstalledTreesOptions = {
  folder: string;
  limits?: Partial<TreeLimits> | undefined;
};

const gigabyte = 1024 ** 3;
const usualLimits: TreeLimits = {
  maxBytes: 4 * gigabyte,
  maxTrees: 100,
  maxIdleMs: 7 * 24 * 60 * 60_000,
  freeBytes: 2 * gigabyte,
};

/** Longer than a copy may take. */
const leftoverMs = 60 * 60_000;

const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };

/**
 * What `npm ci` made, by what it follows from. A build gets a copy that shares no file with what is kept or with another
 * build: whatever it writes is its own. Only the platform can reach the folder. Without it, or when it fails, npm runs.
 */
export class InstalledTrees {
  readonly #folder: string;
  readonly #limits: TreeLimits;
  readonly #changes = new KeyedLock();
  /** How many builds copy each of them now. */
  readonly #inUse = new Map<string, number>();

  constructor({ folder, limits }: InstalledTreesOptions) {
    this.#folder = folder;
    this.#limits = { ...usualLimits, ...limits };
  }

  /** Puts a copy there, in place of what was. False: there is none, and npm has to make it. */
  async take(key: string, to: string, user: BuildUser | undefined, place: BuildPlace): Promise<boolean> {
    this.#inUse.set(key, (this.#inUse.get(key) ?? 0) + 1);
    const outcome = await this.#take(key, to, user, place).finally(() => {
      const others = this.#inUse.get(key)! - 1;
      if (others > 0) this.#inUse.set(key, others);
      else this.#inUse.delete(key);
    });
    // It is damaged, or the disk is full.
    if (outcome === "failed") await this.#remove(key).catch(() => undefined);
    return outcome === "taken";
  }

  /** Copies what npm has just made. It never fails a build. */
  async keep({ key, packages }: KnownInstall, modules: string, place: BuildPlace): Promise<void> {
    try {
      // One after the other: each needs room.
      await this.#changes.run("all", () => this.#keep(key, packages, modules, place));
    } catch (error) {
      place.signal.throwIfAborted();
      const { code = "copy failed" } = error as NodeJS.ErrnoException;
      place.onLine(`The installed packages could not be kept for later builds (${code}).`);
    }
  }

  /** Removes what was not used for long or is too much, and what a process left that died. */
  async sweep(): Promise<void> {
    await this.#changes.run("all", async () => {
      for (const name of await this.#names(/^\.(new|gone)-/)) {
        const path = join(this.#folder, name);
        const { ctimeMs } = await stat(path).catch(() => ({ ctimeMs: Date.now() }));
        // One that cannot be removed keeps nothing else from being removed.
        if (Date.now() - ctimeMs > leftoverMs)
          await rm(path, { recursive: true, force: true }).catch(() => undefined);
      }
      await this.#makeRoom(0);
    });
  }

  async #take(key: string, to: string, user: BuildUser | undefined, place: BuildPlace) {
    const kept = this.#pathOf(key);
    if (!(await exists(kept))) return "none";
    try {
      const now = new Date();
      await utimes(kept, now, now);
      await rm(to, { recursive: true, force: true });
      await copyTree(join(kept, "node_modules"), to, place);
      if (user) await own([to], `${user.uid}:${user.gid}`, place);
      return "taken";
    } catch {
      place.signal.throwIfAborted();
      // The platform's files: the user that npm runs as could not remove them.
      await rm(to, { recursive: true, force: true });
      return "failed";
    }
  }

  async #keep(key: string, packages: string[], modules: string, place: BuildPlace): Promise<void> {
    const kept = this.#pathOf(key);
    if (packages.length === 0 || (await exists(kept))) return;
    for (const path of packages) {
      const folder = join(dirname(modules), path);
      // npm goes on without an optional package that it could not fetch; the next build may fetch it. Lock files do not
      // always say that a package was compiled.
      if (!(await exists(folder)) || (await exists(join(folder, "binding.gyp")))) return;
    }
    const bytes = await plainSize(modules, this.#limits.maxBytes / 4);
    if (bytes === null) return;
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await chmod(this.#folder, 0o700);
    if (!(await this.#makeRoom(bytes))) return;
    const fresh = join(this.#folder, `.new-${newId()}`);
    try {
      await mkdir(fresh, { mode: 0o700 });
      await copyTree(modules, join(fresh, "node_modules"), place);
      await writeFile(join(fresh, "bytes"), String(bytes));
      // Whole or not at all.
      await moveInto(fresh, kept);
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  }

  /** For so many bytes more; false when there is none, because the rest is in use or the disk is nearly full. */
  async #makeRoom(bytes: number): Promise<boolean> {
    const kept = await this.#list();
    const { bavail, bsize } = await statfs(this.#folder).catch(() => ({ bavail: 0, bsize: 0 }));
    const plan = treesBeyond(kept, this.#limits, { bytes, freeBytes: bavail * bsize });
    for (const key of plan.remove) await this.#remove(key).catch(() => undefined);
    return plan.fits;
  }

  async #remove(key: string): Promise<void> {
    if (!this.#inUse.has(key)) await removeArtifactFolder(this.#pathOf(key));
  }

  async #list(): Promise<KeptTree[]> {
    const now = Date.now();
    const names = await this.#names(/^[0-9a-f]{64}$/);
    return Promise.all(
      names.map(async (key) => {
        const text = await readFile(join(this.#pathOf(key), "bytes"), "utf8").catch(() => "0");
        const { mtimeMs } = await stat(this.#pathOf(key)).catch(() => ({ mtimeMs: now }));
        return { key, bytes: Number(text), idleMs: now - mtimeMs, isInUse: this.#inUse.has(key) };
      }),
    );
  }

  async #names(pattern: RegExp): Promise<string[]> {
    const names = await readdir(this.#folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw error;
    });
    return names.filter((name) => pattern.test(name));
  }

  #pathOf(key: string): string {
    return join(this.#folder, key);
  }
}

/** Files of their own, owned by the platform. Links stay links; none is followed. */
async function copyTree(from: string, to: string, place: BuildPlace): Promise<void> {
  const args = ["-a", "--no-preserve=ownership", "--reflink=auto", "-T", "--", from, to];
  await runStep({ ...place, onLine: () => undefined, command: "cp", args, cwd: "/", env });
}

/** What the smallest file or folder takes of a disk. */
const leastBytes = 4096;
/** A copy lies elsewhere: what is too deep there could not be removed any more. */
const maxPathBytes = 1024;

/**
 * Bytes of all that is in it; null where that is too much, more than files, folders and links within, has special rights, or could
 * not be removed by the platform's user.
 */
async function plainSize(root: string, maxBytes: number): Promise<number | null> {
  if (!(await lstat(root)).isDirectory()) return null;
  let bytes = 0;
  const pending = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const name of await readdir(next)) {
      const path = join(next, name);
      // Bytes that are no text have this character instead.
      if (path.includes("\ufffd") || Buffer.byteLength(path) - Buffer.byteLength(root) > maxPathBytes)
        return null;
      const entry = await lstat(path);
      bytes += Math.max(entry.size, leastBytes);
      if (bytes > maxBytes) return null;
      if (entry.isSymbolicLink()) {
        if (!isInside(root, resolve(next, await readlink(path)))) return null;
      } else if ((entry.mode & 0o7000) !== 0) return null;
      else if (entry.isDirectory()) {
        if ((entry.mode & 0o700) !== 0o700) return null;
        pending.push(path);
      } else if (!entry.isFile()) return null;
    }
  }
  return bytes;
}
