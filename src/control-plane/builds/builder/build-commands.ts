import { basename, dirname, join, resolve } from "node:path";
import { exists } from "../../../platform/exists.ts";
import type { Mount } from "../../sandbox/bubblewrap.ts";
import { findProgram } from "../../sandbox/find-program.ts";
import type { Enclosing } from "../../sandbox/walls.ts";
import { stepEnvironment } from "../build-environment.ts";
import type { BuildPlace, BuildRequest, OnLine, PlaceOf } from "../build-request.ts";
import { notStarted } from "../build-step.ts";
import type { BuildLease } from "../build-user.ts";
import { splitCommand } from "../command-guard.ts";
import type { Installer, InstallSite } from "../installer.ts";
import { buildRefused } from "../project-files.ts";
import { withoutCredentials, withoutOlderNames } from "../python/package-index.ts";
import type { PythonBuild, PythonPlace } from "../python/python-build.ts";
import type { PythonBuilder } from "../python/python-builder.ts";
import type { PythonProject } from "../python-project.ts";
import { runWalled } from "../walled-step.ts";

/** Where a project's commands run, and as which user. */
type CommandPlace = BuildLease & {
  tree: string;
  request: BuildRequest;
  place: PlaceOf;
  /** Folders of programs that were fetched for it. */
  bins: string[];
  /** The part of the build that is Python. */
  python: PythonBuild | null;
};

export type BuildCommandsOptions = {
  installers: readonly Installer[];
  python: PythonBuilder;
  environment: Record<string, string>;
  walls: Enclosing;
};

/** Install, then build, with nothing of either left running. */
export class BuildCommands {
  readonly #installers: readonly Installer[];
  readonly #python: PythonBuilder;
  readonly #environment: Record<string, string>;
  readonly #walls: Enclosing;

  constructor({ installers, python, environment, walls }: BuildCommandsOptions) {
    this.#installers = installers;
    this.#python = python;
    this.#environment = environment;
    this.#walls = walls;
  }

  /** Says which tool installed Python packages, if the project has some. */
  async run(
    lease: BuildLease,
    facts: {
      tree: string;
      configPath: string;
      request: BuildRequest;
      place: PlaceOf;
      project: PythonProject | null;
    },
  ): Promise<{ pythonInstaller: PythonBuild["installer"] | null }> {
    const { configPath, project, request } = facts;
    const at: CommandPlace = { ...lease, ...facts, bins: [], python: null };
    if (project !== null) {
      // Before any code of the project runs: what is read here is what was fetched.
      const python = await this.#python.begin(project, this.#pythonPlace(at, configPath), at.place());
      await python.makeEnvironment({ withPip: Boolean(request.buildConfig.install_command) });
      at.python = python;
    }
    await this.#install(at, configPath);
    await this.#build(at, configPath);
    await at.python?.finish();
    return { pythonInstaller: at.python?.installer ?? null };
  }

  async #install(at: CommandPlace, configPath: string): Promise<void> {
    const { request, tree } = at;
    const { install_command: command } = request.buildConfig;
    if (command) {
      await request.note(`Installing: ${command}`, 30);
      await this.#runAll("install_command", command, tree, at);
      return;
    }
    const site: InstallSite = {
      ...{ tree, configPath, place: at.place, workspaceId: request.workspaceId, user: at.user },
      hasOwnPrograms: at.python !== null,
      note: (message) => request.note(message, 30),
      addToPath: (folders) => void at.bins.push(...folders),
      run: (program, args, folder) => this.#step("install", program, args, join(tree, folder), at),
    };
    let found = false;
    for (const installer of this.#installers) found = (await installer.install(site)) || found;
    if (at.python !== null) await at.python.install();
    else if (!found) request.onLine("No package.json: nothing to install.");
  }

  async #build(at: CommandPlace, configPath: string): Promise<void> {
    const { build_command: command } = at.request.buildConfig;
    if (!command) return;
    await at.request.note(`Building: ${command}`, 50);
    await this.#runAll("build_command", command, join(at.tree, dirname(configPath)), at);
  }

  async #runAll(name: string, command: string, cwd: string, at: CommandPlace): Promise<void> {
    for (const [program, ...args] of splitCommand(command)) {
      if (at.bins.length === 0) at.bins.push(...(await this.#provide(program!, at.place())));
      await this.#step(name, program!, args, cwd, at);
    }
  }

  /** A program that a project names itself, in any version. */
  async #provide(program: string, place: BuildPlace): Promise<string[]> {
    for (const installer of this.#installers) {
      const bins = await installer.provide(program, place);
      if (bins !== null) return bins;
    }
    return [];
  }

  async #step(name: string, command: string, args: string[], cwd: string, at: CommandPlace): Promise<void> {
    at.request.onLine(`$ ${[command, ...args].join(" ")}`);
    const environment = this.#environmentOf(at, command);
    const program = await programOf(command, cwd, environment.PATH!);
    const mounts = [
      ...(await programMounts(program)),
      // Each bin of a manager lies in the folder with the manager itself.
      ...at.bins.map((bin) => ({ from: dirname(bin) })),
      ...(at.python?.mounts ?? []),
    ];
    const outcome = await runWalled(this.#walls, { program, args, cwd, command, environment, mounts }, at);
    if (!outcome.failed) return;
    throw buildRefused(
      `${name} failed (${[command, ...args].join(" ")}: ${outcome.ending}).\nIts last lines:\n${outcome.tail()}`,
      { output: outcome.lines, isLogged: true },
    );
  }

  /** A project with Python finds its environment first. */
  #environmentOf(at: CommandPlace, command: string): Record<string, string> {
    if (at.python === null) return stepEnvironment(this.#environment, at, command);
    const bins = [...at.python.bins, ...at.bins];
    const machine = withoutOlderNames(this.#environment);
    return { ...stepEnvironment(machine, { ...at, bins }, command), ...at.python.variables };
  }

  #pythonPlace(at: CommandPlace, configPath: string): PythonPlace {
    const { tree, scratch, cache, request } = at;
    return {
      ...{ tree, configPath, scratch, cache },
      note: request.note,
      onLine: request.onLine,
      run: ({ shown, environment, ...step }) => {
        if (shown !== null) request.onLine(`$ ${shown}`);
        const command = basename(step.program);
        const own = { ...this.#environmentOf(at, command), ...environment };
        // Installers print the address of an index, and a password may be in it.
        const onLine: OnLine = (line, origin) => request.onLine(withoutCredentials(line), origin);
        const place = () => ({ ...at.place(), onLine });
        return runWalled(this.#walls, { ...step, command, environment: own }, { ...at, place });
      },
    };
  }
}

/** Checked first: without the program the sandbox would fail, with a message of its own. */
async function programOf(command: string, cwd: string, path: string): Promise<string> {
  const found = command.includes("/") ? resolve(cwd, command) : await findProgram(command, path);
  if (found !== null && (await exists(found))) return found;
  throw notStarted(command, Object.assign(new Error("not found"), { code: "ENOENT" }));
}

/** A program installed outside of the system's own folders comes with what lies beside it. */
async function programMounts(program: string): Promise<Mount[]> {
  if (/^\/(usr|bin|sbin)\//.test(program)) return [];
  const folder = dirname(program);
  const prefix = dirname(folder);
  const isPrefix = basename(folder) === "bin" && (await exists(join(prefix, "lib", "node_modules")));
  return [{ from: isPrefix ? prefix : folder }];
}
