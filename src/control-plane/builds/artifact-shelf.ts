import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/db/database.ts";
import { exists } from "../../platform/exists.ts";
import { type Artifact, deleteArtifact, insertArtifact, takeArtifact } from "./artifact-store.ts";

/** What was built, each in a folder named after its content. */
export class ArtifactShelf {
  readonly folder: string;
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(options: { folder: string; database: Database; clock: Clock }) {
    this.folder = options.folder;
    this.#database = options.database;
    this.#clock = options.clock;
  }

  async find(workspaceId: string, key: string): Promise<Artifact | undefined> {
    const known = await takeArtifact(this.#database.sql, workspaceId, key, this.#clock.now());
    if (!known) return undefined;
    if (await exists(known.path)) return known;
    await deleteArtifact(this.#database.sql, key);
    return undefined;
  }

  /** One that cannot be used any more. */
  async remove({ key, path }: Artifact): Promise<void> {
    await deleteArtifact(this.#database.sql, key);
    await rm(path, { recursive: true, force: true });
  }

  /** Moves the built tree here; returns where it is now. */
  async keep(
    tree: string,
    { workspaceId, ...artifact }: Omit<Artifact, "path"> & { workspaceId: string },
  ): Promise<string> {
    const path = join(this.folder, artifact.key);
    // Passable but not listed: the names are known only to those who may read them.
    await mkdir(this.folder, { recursive: true, mode: 0o711 });
    await moveInto(tree, path);
    // The row is the commit point: a folder without one is not trusted.
    const row = { ...artifact, workspace_id: workspaceId, path };
    await insertArtifact(this.#database.sql, row, this.#clock.now());
    return path;
  }
}

/** Somebody else may have built the same a moment earlier; theirs is as good. */
async function moveInto(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
    await rm(from, { recursive: true, force: true });
  }
}
