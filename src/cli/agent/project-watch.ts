import { existsSync, type FSWatcher, readFileSync, watch } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorMessage } from "../../platform/errors.ts";
import {
  environmentMark,
  isWatchedFile,
  isWatchedFolder,
  type WatchedPlaces,
  watchedPlaces,
} from "./watched-files.ts";

export type ProjectWatchOptions = {
  projectFile: string;
  /** Files that changed, once nothing has for a moment. */
  onChange(files: string[]): void;
  /** A folder that cannot be watched. */
  onProblem(problem: string): void;
};

/** An editor writes in several steps, a checkout many files. */
const quietMs = 100;
const maxFolders = 5_000;

/**
 * Sees changes of a project's files without looking for them: one watch for each folder, since the recursive one of
 * the system would take in every package of an environment first.
 */
export class ProjectWatch {
  readonly #options: ProjectWatchOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #changed = new Set<string>();
  #places: WatchedPlaces = { folders: [], files: [] };
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: ProjectWatchOptions) {
    this.#options = options;
  }

  /** Also after a change, which may have named other folders. */
  async follow(): Promise<void> {
    const { projectFile } = this.#options;
    this.#places = watchedPlaces(
      projectFile,
      existsSync(projectFile) ? readFileSync(projectFile, "utf8") : "",
    );
    for (const folder of this.#places.folders) await this.#addFolder(folder);
    // Theirs alone: a folder that only holds an env file may have anything else in it.
    for (const file of this.#places.files) this.#watch(dirname(file));
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  /** Answers the files in it that count. */
  async #addFolder(folder: string): Promise<string[]> {
    if (existsSync(environmentMark(folder))) return [];
    this.#watch(folder);
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const files: string[] = [];
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && isWatchedFolder(entry.name)) files.push(...(await this.#addFolder(path)));
      else if (entry.isFile() && isWatchedFile(path, this.#places)) files.push(path);
    }
    return files;
  }

  #watch(folder: string): void {
    if (this.#isClosed || this.#watchers.has(folder)) return;
    if (this.#watchers.size >= maxFolders) {
      if (this.#watchers.size === maxFolders)
        this.#options.onProblem(
          `The project has more than ${maxFolders} folders; changes in the others are not noticed.`,
        );
      return;
    }
    try {
      const watcher = watch(folder, (_event, name) => {
        if (name !== null) void this.#look(folder, name);
      });
      // Usually it was removed.
      watcher.on("error", () => this.#forget(folder));
      this.#watchers.set(folder, watcher);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      this.#options.onProblem(`Changes in ${folder} are not noticed: ${errorMessage(error)}`);
    }
  }

  #forget(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  async #look(folder: string, name: string): Promise<void> {
    const path = join(folder, name);
    if (isWatchedFile(path, this.#places)) return this.#note([path]);
    if (!isWatchedFolder(name) || !this.#places.folders.some((root) => folder.startsWith(root))) return;
    const found = await stat(path).catch(() => undefined);
    if (!found) this.#forget(path);
    else if (found.isDirectory() && !this.#watchers.has(path)) this.#note(await this.#addFolder(path));
  }

  #note(files: string[]): void {
    if (files.length === 0 || this.#isClosed) return;
    for (const file of files) this.#changed.add(file);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const changed = [...this.#changed];
      this.#changed.clear();
      this.#options.onChange(changed);
    }, quietMs);
  }
}
