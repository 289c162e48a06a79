import { createReadStream } from "node:fs";
import { mkdir, readdir, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { BlobStore } from "../../platform/blob/blob-store.ts";
import { fetchToFile, storeStream } from "../../platform/blob/blob-transfer.ts";
import { platformFailure } from "../../platform/blob/platform-failure.ts";
import { announceBlob, claimBlob, giveUpBlobs, removeGivenUp } from "../../platform/blob/unclaimed-blobs.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { exists } from "../../platform/exists.ts";
import { newId } from "../../platform/ids.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import { leastNeeded } from "./artifact-eviction.ts";
import { moveInto, removeArtifactFolder } from "./artifact-folder.ts";
import { packTree, unpackTree } from "./artifact-pack.ts";
import {
  type Artifact,
  deleteArtifactAsSeen,
  insertArtifact,
  listArtifactUses,
  takeArtifact,
} from "./artifact-store.ts";
import { UnsafeArchive } from "./unpack-guard.ts";

export type ArtifactShelfOptions = {
  folder: string;
  database: Database;
  clock: Clock;
  /** Where other servers find what was built; null where there are none: then the folder is all there is, and nothing is packed. */
  blobs: BlobStore | null;
  /** Of what is fetched, or stored for others, so much is kept here; what runs comes on top. */
  maxBytes: number;
};

type KeptArtifact = Omit<Artifact, "sha256" | "packed_bytes" | "blob_id">;

/** Two may build the same key at once, with other bytes: each has a blob of its own, and the first row names one of them. */
export const artifactBlobKey = ({ key, blob_id: id }: Pick<Artifact, "key" | "blob_id">) =>
  id === null ? `artifacts/${key}.tar.zst` : `artifacts/${key}.${id}.tar.zst`;

/** A download may be damaged on its way; if it is damaged twice, the stored file is. */
const fetches = 2;

/** What is being stored is only given up when it took too long. */
const stores = 5;

/** Longer than a fetch may take. */
const leftoverMs = 60 * 60_000;

/** What was built, each in a folder named after its content. */
export class ArtifactShelf {
  readonly folder: string;
  readonly #options: ArtifactShelfOptions;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #fetching = new KeyedLock();

  constructor(options: ArtifactShelfOptions) {
    this.folder = options.folder;
    this.#options = options;
    this.#database = options.database;
    this.#clock = options.clock;
  }

  /** With its folder on this machine; undefined when it has to be built again. `onFetch`: it is not here yet. */
  async find(
    workspaceId: string,
    key: string,
    signal: AbortSignal,
    onFetch?: () => Promise<void>,
  ): Promise<Artifact | undefined> {
    const known = await takeArtifact(this.#database.sql, workspaceId, key, this.#clock.now());
    if (!known) return undefined;
    return this.#fetching.run(key, () => this.#bring(workspaceId, known, { signal, onFetch }));
  }

  /** One that cannot be used any more; what somebody has stored in its place meanwhile stays. */
  async remove(artifact: Artifact): Promise<void> {
    await this.#forget(artifact);
    await removeArtifactFolder(artifact.path);
  }

  /** Moves the built tree here, and stores it for others; returns where it is now. */
  async keep(
    tree: string,
    { workspaceId, ...artifact }: Pick<Artifact, "key" | "bytes" | "uses_own_auth"> & { workspaceId: string },
  ): Promise<string> {
    const path = this.#pathOf(artifact.key);
    await this.#makeFolder();
    await moveInto(tree, path);
    await touch(path);
    await this.#record(workspaceId, { ...artifact, path });
    return path;
  }

  async #bring(
    workspaceId: string,
    known: Artifact,
    { signal, onFetch }: { signal: AbortSignal; onFetch: (() => Promise<void>) | undefined },
  ): Promise<Artifact | undefined> {
    const { blobs } = this.#options;
    const path = known.sha256 === null ? known.path : this.#pathOf(known.key);
    const here = { ...known, path };
    if (await exists(path)) {
      await touch(path);
      // Built while this was the only server.
      if (blobs && known.sha256 === null) await this.#record(workspaceId, here);
      return here;
    }
    if (blobs) {
      // Another server has it, and has not stored it yet.
      if (known.sha256 === null) return undefined;
      await onFetch?.();
      if (await this.#fetch(blobs, known, signal)) return here;
    }
    await this.#forget(known);
    return undefined;
  }

  async #forget(artifact: Artifact): Promise<void> {
    const { blobs } = this.#options;
    const keys = blobs ? [artifactBlobKey(artifact)] : [];
    const isGone = await this.#database.transaction(async (tx) => {
      if (!(await deleteArtifactAsSeen(tx, artifact))) return false;
      await giveUpBlobs(tx, keys);
      return true;
    });
    if (isGone && blobs) await removeGivenUp({ database: this.#database, blobs }, keys);
  }

  async #record(workspaceId: string, artifact: KeptArtifact): Promise<void> {
    const { blobs } = this.#options;
    const row = { ...artifact, workspace_id: workspaceId };
    if (blobs === null) {
      const unpacked = { ...row, sha256: null, packed_bytes: null, blob_id: null };
      await insertArtifact(this.#database.sql, unpacked, this.#clock.now());
      return;
    }
    for (let tries = 1; !(await this.#store(blobs, row)); tries += 1) {
      if (tries === stores)
        throw platformFailure("blob.busy", `${artifact.key} is taken away again and again`, null);
    }
    await this.#evict(artifact.key);
  }

  /**
   * The blob first, then the row, which is the commit point: a folder without one is not trusted. If another process has
   * stored the same meanwhile, the blob of that one stays and this one goes. False when it was given up.
   */
  async #store(blobs: BlobStore, row: KeptArtifact & { workspace_id: string }): Promise<boolean> {
    const blobId = newId();
    const blobKey = artifactBlobKey({ key: row.key, blob_id: blobId });
    await announceBlob(this.#database.sql, blobKey);
    const { sha256, bytes } = await storeStream(blobs, blobKey, packTree(row.path));
    const outcome = await this.#database.transaction(async (tx) => {
      if (!(await claimBlob(tx, blobKey))) return "given up";
      const stored = { ...row, sha256, packed_bytes: bytes, blob_id: blobId };
      if (await insertArtifact(tx, stored, this.#clock.now())) return "stored";
      await giveUpBlobs(tx, [blobKey]);
      return "second";
    });
    if (outcome === "second") await removeGivenUp({ database: this.#database, blobs }, [blobKey]);
    return outcome !== "given up";
  }

  /** False when it is gone, or not what was stored. Nothing is unpacked before it has been checked. */
  async #fetch(blobs: BlobStore, known: Artifact, signal: AbortSignal): Promise<boolean> {
    const { key, sha256, packed_bytes: bytes } = known;
    const work = join(this.folder, `.fetch-${newId()}`);
    await this.#makeFolder();
    await mkdir(work, { mode: 0o700 });
    try {
      const file = join(work, "packed");
      const wanted = { sha256: sha256!, bytes: Number(bytes), file, signal };
      for (let tries = 1; ; tries += 1) {
        const outcome = await fetchToFile(blobs, artifactBlobKey(known), wanted);
        if (outcome === "fetched") break;
        if (tries === fetches) return false;
      }
      await unpackTree(createReadStream(file), join(work, "tree"), { signal });
      await moveInto(join(work, "tree"), this.#pathOf(key));
      await touch(this.#pathOf(key));
    } catch (error) {
      // Built again, it is refused with words for its owner.
      if (error instanceof UnsafeArchive) return false;
      throw error;
    } finally {
      await rm(work, { recursive: true, force: true });
    }
    await this.#evict(key);
    return true;
  }

  async #evict(newest: string): Promise<void> {
    const all = await readdir(this.folder);
    await this.#removeLeftovers(all.filter((name) => /^\.(fetch|gone)-/.test(name)));
    const names = all.filter((name) => /^[0-9a-f]{64}$/.test(name));
    const uses = await listArtifactUses(this.#database.sql, names);
    const now = Date.now();
    const kept = await Promise.all(
      names.map(async (key) => {
        const { mtimeMs } = await stat(this.#pathOf(key)).catch(() => ({ mtimeMs: now }));
        return { key, idleMs: now - mtimeMs, use: uses.get(key) };
      }),
    );
    for (const key of leastNeeded(kept, this.#options.maxBytes)) {
      if (key !== newest) await removeArtifactFolder(this.#pathOf(key));
    }
  }

  /** Of processes that died while they fetched or removed. */
  async #removeLeftovers(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const path = join(this.folder, name);
      const { ctimeMs } = await stat(path).catch(() => ({ ctimeMs: Date.now() }));
      if (Date.now() - ctimeMs > leftoverMs) await rm(path, { recursive: true, force: true });
    }
  }

  async #makeFolder(): Promise<void> {
    // Files can be opened but not listed: only users who may read them know their names.
    await mkdir(this.folder, { recursive: true, mode: 0o711 });
  }

  #pathOf(key: string): string {
    return join(this.folder, key);
  }
}

/** The time of its last use here; it may have been made long before. */
async function touch(path: string): Promise<void> {
  const now = new Date();
  await utimes(path, now, now);
}
