import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import type { ArtifactShelf } from "../artifact-shelf.ts";
import { removeWork } from "../build-cleanup.ts";
import { BuildDeadline } from "../build-deadline.ts";
import type { BuildRequest, Built, RevisionBuilder } from "../build-request.ts";
import { diskFull } from "../disk-full.ts";
import type { GitSource } from "../git/git-source.ts";
import { configPathProblem } from "../git/repo-url.ts";
import { buildRefused, type ProjectCheck } from "../project-files.ts";
import { hasItsPython } from "../python/built-environment.ts";
import { pythonInstallers } from "../python/plan-python-install.ts";
import { KeyedTurns, Turns } from "../turns.ts";
import { type BuildMachine, type ReadSource, SourceReader } from "./source-reader.ts";
import { checkTree, type SourceTree, TreeBuilder, type TreeBuilderOptions } from "./tree-builder.ts";

export type BuilderOptions = Omit<TreeBuilderOptions, "isAlone"> & {
  database: Database;
  clock: Clock;
  git: GitSource;
  shelf: ArtifactShelf;
  checkProject(text: string, path: string): ProjectCheck;
  timeoutMs: number;
  /** How many builds run their commands at once. */
  maxAtOnce: number;
};

/** Hosts that do not answer delay only their own workspace. */
export const readsPerWorkspace = 4;

/** A source that takes longer to read does not hold a builder's place. */
const slowReadMs = 10_000;

/** Turns a source into a folder that a server can be started from, on this machine. The same source is built once. */
export class Builder implements RevisionBuilder {
  readonly outlivesPlatform = false;
  readonly #options: BuilderOptions;
  readonly #shelf: ArtifactShelf;
  readonly #sources: SourceReader;
  readonly #trees: TreeBuilder;
  readonly #reads = new KeyedTurns(readsPerWorkspace);
  readonly #reading = new Set<{ since: number }>();
  readonly #turns: Turns;

  constructor(options: BuilderOptions) {
    const { git, shelf, maxBytes } = options;
    this.#options = options;
    this.#shelf = shelf;
    this.#trees = new TreeBuilder(options);
    this.#sources = new SourceReader({ git, shelf, maxBytes, machine: thisMachine(this.#trees) });
    this.#turns = new Turns(options.maxAtOnce);
  }

  /** Where the folders of artifacts are. */
  get artifacts(): string {
    return this.#shelf.folder;
  }

  workFolderOf(revisionId: string): string {
    return join(this.#options.folder, "builds", revisionId);
  }

  /** How many more builds could begin at once, when so many are begun. */
  room(begun: number): number {
    const now = performance.now();
    const slow = [...this.#reading].filter(({ since }) => now - since > slowReadMs).length;
    return this.#options.maxAtOnce - (begun - slow);
  }

  async build(request: BuildRequest): Promise<Built> {
    const workFolder = this.workFolderOf(request.revisionId);
    const deadline = new BuildDeadline(this.#options.timeoutMs, request.signal);
    const { signal } = deadline;
    const place = () => ({ workFolder, timeoutMs: deadline.leftMs(), signal, onLine: request.onLine });
    try {
      await removeWork(workFolder);
      // Passable, for the user whose folders are in it; only the platform writes into it.
      await mkdir(workFolder, { recursive: true, mode: 0o711 });
      const configPath = request.revisionConfig.graph_config_path ?? "langgraph.json";
      const problem = configPathProblem(configPath);
      if (problem) throw buildRefused(`graph_config_path ${problem}.`);
      const work = { request, configPath, tree: join(workFolder, "source"), place };
      deadline.pause();
      const reading = { since: performance.now() };
      this.#reading.add(reading);
      const read = await this.#reads
        .run(request.workspaceId, signal, () => {
          deadline.go();
          return this.#sources.read(request, configPath, work.tree, place);
        })
        .finally(() => this.#reading.delete(reading));
      if (read.known) return read.known;
      // A host that hangs has held no builder; from here on everything is this machine's own work.
      deadline.pause();
      if (this.#turns.isFull) await request.note("Waiting for a free builder.", 22);
      return await this.#turns.run(signal, () => {
        deadline.go();
        return this.#buildTree(work, read);
      });
    } catch (error) {
      throw explainDisk(error);
    } finally {
      deadline.end();
      await removeWork(workFolder);
    }
  }

  /** Nothing is left of a build that has ended. */
  async clear(): Promise<void> {}

  async clearLeft(): Promise<void> {
    await this.#trees.sweep();
  }

  async #buildTree(work: SourceTree, { commitSha, keyOf }: ReadSource): Promise<Built> {
    const { request, tree } = work;
    const { onLine, workspaceId } = request;
    const project = await checkTree(work, this.#options.checkProject);
    const { bytes, pythonInstaller } = await this.#trees.build(work, project);
    const key = await keyOf(pythonInstaller);
    const { usesOwnAuth } = project;
    await request.note("Storing the result", 60);
    const path = await this.#shelf.keep(tree, { key, workspaceId, bytes, uses_own_auth: usesOwnAuth });
    onLine(builtText(key, bytes));
    return { artifactKey: key, path, commitSha, usesOwnAuth, cached: false };
  }
}

export const builtText = (key: string, bytes: number) =>
  `Built ${key.slice(0, 12)}, ${Math.round(bytes / 1024 / 1024)} MB.`;

/** One whose Python is gone from this machine cannot be started again. */
function thisMachine({ python }: TreeBuilder): BuildMachine {
  return {
    installers: [null, ...pythonInstallers],
    describe: async (installer) => ({
      nodeModulesVersion: process.versions.modules,
      ...(installer === null ? {} : { python: await python.describeMachine(installer) }),
    }),
    canUse: async ({ path }, { installer, configPath }) =>
      installer === null || (await hasItsPython(path, configPath)),
  };
}

/** A full disk is always reported as a full disk, in whichever step it shows. */
export function explainDisk(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT" ? diskFull(error) : error;
}
