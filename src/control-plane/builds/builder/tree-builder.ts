import { join } from "node:path";
import { openToReaders } from "../../sandbox/open-to-readers.ts";
import type { Enclosing } from "../../sandbox/walls.ts";
import type { BuildRequest, PlaceOf } from "../build-request.ts";
import { BuildUsers } from "../build-user.ts";
import { InstalledTrees } from "../node/installed-trees.ts";
import { ManagerTools } from "../node/manager-tools.ts";
import { NodeInstaller } from "../node/node-installer.ts";
import {
  type ProjectCheck,
  readProject,
  requireFiles,
  requirePlainNames,
  requireSize,
} from "../project-files.ts";
import type { Installer as PythonInstaller } from "../python/plan-python-install.ts";
import { machinePythons, PythonBuilder } from "../python/python-builder.ts";
import { PythonTools } from "../python/python-tools.ts";
import { BuildCommands } from "./build-commands.ts";

export type TreeBuilderOptions = {
  /** Tools and package caches live below it. */
  folder: string;
  /** What build commands may see of the machine's environment. */
  environment: Record<string, string>;
  /** Pythons beside those on PATH, as an operator names them. */
  pythons: readonly string[];
  importLimitMs?: number | undefined;
  maxBytes: number;
  /** What the commands of a project run behind. */
  walls: Enclosing;
  /** Nothing but this build is here, as in a pod: whose user its commands have makes no difference. */
  isAlone?: boolean;
};

/** A source that was read, and what is asked for it. */
export type SourceTree = { request: BuildRequest; configPath: string; tree: string; place: PlaceOf };

/** Reads the project file of a source, and says what it asks for in vain. */
export async function checkTree(
  { request, configPath, tree }: Omit<SourceTree, "place">,
  check: (text: string, path: string) => ProjectCheck,
): Promise<ProjectCheck> {
  await request.note(`Checking ${configPath}`, 25);
  const project = await readProject(tree, configPath, check);
  const { nodeVersion } = project;
  if (nodeVersion) {
    request.onLine(
      `The project requests node_version ${nodeVersion}; this runtime uses ${process.versions.node}.`,
    );
  }
  for (const warning of project.warnings) await request.note(`Warning: ${warning}`, 26);
  return project;
}

/** Checks a built tree, from any builder, and returns its size. */
export async function requireBuilt(
  tree: string,
  { configPath, files, maxBytes }: { configPath: string; files: string[]; maxBytes: number },
): Promise<number> {
  await requireFiles(tree, configPath, { files });
  await requirePlainNames(tree);
  return requireSize(tree, maxBytes);
}

/** Turns a source that was read and checked into a folder that a server can be started from, where it lies. */
export class TreeBuilder {
  readonly python: PythonBuilder;
  readonly #options: TreeBuilderOptions;
  readonly #users: BuildUsers;
  readonly #commands: BuildCommands;
  /** Null where no later build could find them. */
  readonly #installed: InstalledTrees | null;

  constructor(options: TreeBuilderOptions) {
    const { folder, environment, walls } = options;
    this.#options = options;
    const tools = join(folder, "tools");
    const isolation = async () => (await walls.isolation()).kind;
    this.python = new PythonBuilder({
      interpreters: machinePythons({ folder, environment, named: options.pythons }),
      tools: new PythonTools({ folder: tools, environment }),
      ...{ environment, isolation, importLimitMs: options.importLimitMs },
    });
    this.#users = new BuildUsers(join(folder, "cache"), isolation);
    // One for each kind of project; a source may be of several.
    this.#installed = options.isAlone ? null : new InstalledTrees({ folder: join(folder, "installed") });
    const managers = new ManagerTools({ folder: tools, environment });
    const installers = [new NodeInstaller({ managers, installed: this.#installed, environment })];
    this.#commands = new BuildCommands({ installers, python: this.python, environment, walls });
  }

  /** Its size, and which tool installed Python packages, if it has some. */
  async build(
    source: SourceTree,
    project: ProjectCheck,
  ): Promise<{ bytes: number; pythonInstaller: PythonInstaller | null }> {
    const { configPath, tree } = source;
    const { maxBytes } = this.#options;
    const { pythonInstaller } = await this.#runCommands(source, project);
    const bytes = await requireBuilt(tree, { configPath, files: project.files, maxBytes });
    return { bytes, pythonInstaller };
  }

  /** Removes installed packages that are kept for later builds and were not used for long, or are too many. */
  async sweep(): Promise<void> {
    await this.#installed?.sweep();
  }

  /** Install and build, as a user without rights of the platform where that is possible. */
  async #runCommands({ request, configPath, tree, place }: SourceTree, { python: project }: ProjectCheck) {
    return this.#users.withUser(request.workspaceId, tree, place(), async (lease) => {
      if (lease.reason !== null && !this.#options.isAlone)
        request.onLine(`Commands run as the platform's own user: ${lease.reason}.`);
      const done = await this.#commands.run(lease, { tree, configPath, request, place, project });
      if (lease.user) await this.#users.takeBack(lease.user, tree, place());
      else if (process.getuid?.() === 0) await openToReaders(tree);
      return done;
    });
  }
}
