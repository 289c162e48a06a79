import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../platform/clock.ts";
import type { Database } from "../../../platform/db/database.ts";
import { openToReaders } from "../../sandbox/open-to-readers.ts";
import type { Enclosing } from "../../sandbox/walls.ts";
import { ArtifactShelf } from "../artifact-shelf.ts";
import { BuildDeadline } from "../build-deadline.ts";
import type { BuildRequest, Built, PlaceOf } from "../build-request.ts";
import { BuildUsers } from "../build-user.ts";
import { diskFull } from "../disk-full.ts";
import type { GitSource } from "../git/git-source.ts";
import { configPathProblem } from "../git/repo-url.ts";
import { ManagerTools } from "../node/manager-tools.ts";
import { NodeInstaller } from "../node/node-installer.ts";
import { buildRefused, type ProjectCheck, readProject, requireFiles, requireSize } from "../project-files.ts";
import { machinePythons, PythonBuilder } from "../python/python-builder.ts";
import { PythonTools } from "../python/python-tools.ts";
import { KeyedTurns, Turns } from "../turns.ts";
import { BuildCommands } from "./build-commands.ts";
import { type ReadSource, SourceReader } from "./source-reader.ts";

export type BuilderOptions = {
  database: Database;
  clock: Clock;
  git: GitSource;
  checkProject(text: string, path: string): ProjectCheck;
  /** Builds, artifacts and package caches live below it. */
  folder: string;
  /** What build commands may see of the machine's environment. */
  environment: Record<string, string>;
  /** Pythons beside those on PATH, as an operator names them. */
  pythons: readonly string[];
  timeoutMs: number;
  maxBytes: number;
  /** What the commands of a project run behind. */
  walls: Enclosing;
  /** How many builds run their commands at once. */
  maxAtOnce: number;
};

/** Hosts that do not answer hold up their own workspace and nobody else. */
const readsPerWorkspace = 4;

/** One build on its way. */
type Work = { request: BuildRequest; configPath: string; tree: string; place: PlaceOf };

/** Turns a source into a folder that a server can be started from. The same source is built once. */
export class Builder {
  readonly #options: BuilderOptions;
  readonly #shelf: ArtifactShelf;
  readonly #sources: SourceReader;
  readonly #users: BuildUsers;
  readonly #commands: BuildCommands;
  readonly #reads = new KeyedTurns(readsPerWorkspace);
  readonly #turns: Turns;

  constructor(options: BuilderOptions) {
    const { folder, database, clock, git, maxBytes, environment, walls } = options;
    this.#options = options;
    this.#shelf = new ArtifactShelf({ folder: join(folder, "artifacts"), database, clock });
    const tools = join(folder, "tools");
    const isolation = async () => (await walls.isolation()).kind;
    const python = new PythonBuilder({
      interpreters: machinePythons({ folder, environment, named: options.pythons }),
      tools: new PythonTools({ folder: tools, environment }),
      ...{ environment, isolation },
    });
    this.#sources = new SourceReader({ git, shelf: this.#shelf, maxBytes, python });
    this.#users = new BuildUsers(join(folder, "cache"), isolation);
    // One for each kind of project; a source may be of several.
    const installers = [new NodeInstaller(new ManagerTools({ folder: tools, environment }))];
    this.#commands = new BuildCommands({ installers, python, environment, walls });
    this.#turns = new Turns(options.maxAtOnce);
  }

  /** Where the folders of artifacts are. */
  get artifacts(): string {
    return this.#shelf.folder;
  }

  workFolderOf(revisionId: string): string {
    return join(this.#options.folder, "builds", revisionId);
  }

  async build(request: BuildRequest): Promise<Built> {
    const workFolder = this.workFolderOf(request.revisionId);
    const deadline = new BuildDeadline(this.#options.timeoutMs, request.signal);
    const { signal } = deadline;
    const place = () => ({ workFolder, timeoutMs: deadline.leftMs(), signal, onLine: request.onLine });
    try {
      await rm(workFolder, { recursive: true, force: true });
      // Passable, for the user whose folders are in it; only the platform writes into it.
      await mkdir(workFolder, { recursive: true, mode: 0o711 });
      const configPath = request.revisionConfig.graph_config_path ?? "langgraph.json";
      const problem = configPathProblem(configPath);
      if (problem) throw buildRefused(`graph_config_path ${problem}.`);
      const work = { request, configPath, tree: join(workFolder, "source"), place };
      deadline.pause();
      const read = await this.#reads.run(request.workspaceId, signal, () => {
        deadline.go();
        return this.#sources.read(request, configPath, work.tree, place);
      });
      if (read.known) return read.known;
      // A host that hangs has held no builder; from here on everything is this machine's own work.
      deadline.pause();
      if (this.#turns.isFull) await request.note("Waiting for a free builder.", 22);
      return await this.#turns.run(signal, () => {
        deadline.go();
        return this.#buildTree(work, read);
      });
    } catch (error) {
      throw explain(error);
    } finally {
      deadline.end();
      await rm(workFolder, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  async #buildTree(work: Work, { commitSha, keyOf }: ReadSource): Promise<Built> {
    const { request, configPath, tree } = work;
    const { onLine, workspaceId } = request;
    await request.note(`Checking ${configPath}`, 25);
    const project = await readProject(tree, configPath, this.#options.checkProject);
    const { nodeVersion, usesOwnAuth } = project;
    if (nodeVersion) {
      onLine(`The project requests node_version ${nodeVersion}; this runtime uses ${process.versions.node}.`);
    }
    for (const warning of project.warnings) await request.note(`Warning: ${warning}`, 26);
    const { pythonInstaller } = await this.#runCommands(work, project);
    const key = await keyOf(pythonInstaller);
    await requireFiles(tree, configPath, project);
    const bytes = await requireSize(tree, this.#options.maxBytes);
    await request.note("Storing the result", 60);
    const path = await this.#shelf.keep(tree, { key, workspaceId, bytes, uses_own_auth: usesOwnAuth });
    onLine(`Built ${key.slice(0, 12)}, ${Math.round(bytes / 1024 / 1024)} MB.`);
    return { artifactKey: key, path, commitSha, usesOwnAuth, cached: false };
  }

  /** Install and build, as somebody with no rights of the platform's where that is possible. */
  async #runCommands({ request, configPath, tree, place }: Work, { python: project }: ProjectCheck) {
    return this.#users.withUser(request.workspaceId, tree, place(), async (lease) => {
      if (lease.reason !== null) request.onLine(`Commands run as the platform's own user: ${lease.reason}.`);
      const done = await this.#commands.run(lease, { tree, configPath, request, place, project });
      if (lease.user) await this.#users.takeBack(lease.user, tree, place());
      else if (process.getuid?.() === 0) await openToReaders(tree);
      return done;
    });
  }
}

function explain(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT" ? diskFull(error) : error;
}
