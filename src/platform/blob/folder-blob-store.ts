import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { newId } from "../ids.ts";
import type { BlobBody, BlobEntry, BlobHead, BlobStore, BlobUpload, GetOptions } from "./blob-store.ts";
import { emptyBody, readableOf } from "./blob-stream.ts";
import { folderFailure, isMissing } from "./folder-failure.ts";

/** What is on its way, on the same disk as what it will be. */
const partsFolder = ".parts";
const mostTries = 5;

/** A folder of this machine, or one that several machines have mounted. A key is a path below it. */
export class FolderBlobStore implements BlobStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async put(key: string, body: Buffer): Promise<void> {
    const upload = await this.beginUpload(key);
    try {
      await upload.addPart(body);
      await upload.complete();
    } catch (error) {
      await upload.abort();
      throw error;
    }
  }

  beginUpload(key: string): Promise<BlobUpload> {
    const target = this.#pathOf(key);
    const part = join(this.#root, partsFolder, `${encodeURIComponent(key)}~${newId()}`);
    return this.#guarded(async () => {
      await mkdir(dirname(part), { recursive: true, mode: 0o700 });
      return new FolderUpload(await open(part, "wx", 0o600), { part, target, root: this.#root });
    });
  }

  abortUploads(prefix: string, before?: Date): Promise<number> {
    return this.#guarded(async () => {
      const folder = join(this.#root, partsFolder);
      let freed = 0;
      for (const name of await namesIn(folder)) {
        if (!decodeURIComponent(name.slice(0, name.lastIndexOf("~"))).startsWith(prefix)) continue;
        const found = await statOf(join(folder, name));
        if (found === null || (before !== undefined && found.mtime >= before)) continue;
        await rm(join(folder, name), { force: true });
        freed += 1;
      }
      return freed;
    });
  }

  head(key: string): Promise<BlobHead | null> {
    return this.#guarded(async () => {
      const found = await statOf(this.#pathOf(key));
      return found?.isFile() ? { bytes: found.size } : null;
    });
  }

  async get(key: string, { range, signal }: GetOptions = {}): Promise<BlobBody | null> {
    const file = await this.#guarded(async () => {
      try {
        return await open(this.#pathOf(key), "r");
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    });
    if (file === null) return null;
    const { size } = await file.stat();
    const start = Math.min(range?.start ?? 0, size);
    const bytes = Math.min(range?.bytes ?? size, size - start);
    if (bytes === 0) {
      await file.close();
      return emptyBody();
    }
    const source = createReadStream("", { fd: file, start, end: start + bytes - 1 });
    return { bytes, stream: readableOf(source, (error) => folderFailure(error, this.#root), signal) };
  }

  list(prefix: string, { after, limit }: { after?: string | undefined; limit: number }) {
    return this.#guarded(async () => {
      const found: BlobEntry[] = [];
      const parent = prefix.slice(0, prefix.lastIndexOf("/") + 1);
      for await (const key of this.#keysBelow(parent, prefix, after ?? "")) {
        const entry = await statOf(this.#pathOf(key));
        if (entry?.isFile()) found.push({ key, bytes: entry.size, modifiedAt: entry.mtime });
        if (found.length >= limit) break;
      }
      return found;
    });
  }

  remove(key: string): Promise<void> {
    return this.#guarded(async () => {
      const path = this.#pathOf(key);
      await rm(path, { force: true });
      const parent = dirname(path);
      if (dirname(parent) === this.#root || parent === this.#root) return;
      // Only an empty one goes, and only then.
      await rmdir(parent).catch(() => undefined);
    });
  }

  async signedUrl(): Promise<null> {
    return null;
  }

  close(): void {}

  /** In the order of the keys, which is not that of the names: a folder's begin with its name and a slash. */
  async *#keysBelow(folder: string, prefix: string, after: string): AsyncGenerator<string> {
    const entries = await readdir(join(this.#root, folder), { withFileTypes: true }).catch((error) => {
      if (isMissing(error)) return [];
      throw error;
    });
    const keys = entries
      .filter((entry) => entry.isDirectory() || entry.isFile())
      .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`)
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const key of keys) {
      if (key === `${partsFolder}/`) continue;
      if (!key.endsWith("/")) {
        if (key.startsWith(prefix) && key > after) yield key;
      } else if (
        (key.startsWith(prefix) || prefix.startsWith(key)) &&
        (key > after || after.startsWith(key))
      ) {
        yield* this.#keysBelow(key, prefix, after);
      }
    }
  }

  #pathOf(key: string): string {
    const parts = key.split("/");
    if (parts.some((part) => part === "" || part === "." || part === "..") || key.includes("\0"))
      throw new Error(`${JSON.stringify(key)} is no key of a blob.`);
    return join(this.#root, ...parts);
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw folderFailure(error, this.#root);
    }
  }
}

/** A file beside the others that takes its place when it is whole. */
class FolderUpload implements BlobUpload {
  readonly #file: FileHandle;
  readonly #paths: { part: string; target: string; root: string };

  constructor(file: FileHandle, paths: { part: string; target: string; root: string }) {
    this.#file = file;
    this.#paths = paths;
  }

  async addPart(body: Buffer, stored?: () => void): Promise<void> {
    try {
      await this.#file.writeFile(body);
    } catch (error) {
      throw folderFailure(error, this.#paths.root);
    }
    stored?.();
  }

  async complete(): Promise<void> {
    const { part, target, root } = this.#paths;
    try {
      await this.#file.sync();
      await this.#file.close();
      for (let tries = 1; ; tries += 1) {
        await mkdir(dirname(target), { recursive: true, mode: 0o700 });
        // Another process may have removed the last file of the folder, and the folder with it.
        if (await moved(part, target, tries < mostTries)) return;
      }
    } catch (error) {
      throw folderFailure(error, root);
    }
  }

  async abort(): Promise<void> {
    await this.#file.close().catch(() => undefined);
    await rm(this.#paths.part, { force: true }).catch(() => undefined);
  }
}

async function moved(from: string, to: string, mayTryAgain: boolean): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (!mayTryAgain || !isMissing(error) || (await statOf(from)) === null) throw error;
    return false;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error) => {
    if (isMissing(error)) return [];
    throw error;
  });
  return names.filter((name) => basename(name).includes("~"));
}

async function statOf(path: string) {
  try {
    return await stat(path);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
