import { randomUUID } from "node:crypto";
import { basename, dirname, join, resolve } from "node:path";
import { AppError } from "../../platform/errors.ts";
import { exists } from "../../platform/exists.ts";
import type { Mount } from "../sandbox/bubblewrap.ts";
import { findProgram } from "../sandbox/find-program.ts";
import type { Enclosing } from "../sandbox/walls.ts";
import { stepEnvironment } from "./build-environment.ts";
import type { BuildPlace, BuildRequest, PlaceOf } from "./build-request.ts";
import { notStarted, runStep, StepFailed } from "./build-step.ts";
import type { BuildLease } from "./build-user.ts";
import { splitCommand } from "./command-guard.ts";
import { diskFull } from "./disk-full.ts";
import type { Installer, InstallSite } from "./installer.ts";
import { endMarked, endUser, stepMark } from "./left-processes.ts";

/** Where and as whom a project's commands run. */
type CommandPlace = BuildLease & {
  tree: string;
  request: BuildRequest;
  place: PlaceOf;
  /** Folders of programs that were fetched for it. */
  bins: string[];
};

export type BuildCommandsOptions = {
  installers: readonly Installer[];
  environment: Record<string, string>;
  walls: Enclosing;
};

/** Install, then build, with nothing of either left running. */
export class BuildCommands {
  readonly #installers: readonly Installer[];
  readonly #environment: Record<string, string>;
  readonly #walls: Enclosing;

  constructor({ installers, environment, walls }: BuildCommandsOptions) {
    this.#installers = installers;
    this.#environment = environment;
    this.#walls = walls;
  }

  async run(
    lease: BuildLease,
    facts: { tree: string; configPath: string; request: BuildRequest; place: PlaceOf },
  ): Promise<void> {
    const at: CommandPlace = { ...lease, ...facts, bins: [] };
    await this.#install(at, facts.configPath);
    await this.#build(at, facts.configPath);
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
      ...{ tree, configPath, place: at.place },
      note: (message) => request.note(message, 30),
      addToPath: (folders) => void at.bins.push(...folders),
      run: (program, args, folder) => this.#step("install", program, args, join(tree, folder), at),
    };
    let found = false;
    for (const installer of this.#installers) found = (await installer.install(site)) || found;
    if (!found) request.onLine("No package.json: nothing to install.");
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

  /** A program that a project names itself, in whatever version there is. */
  async #provide(program: string, place: BuildPlace): Promise<string[]> {
    for (const installer of this.#installers) {
      const bins = await installer.provide(program, place);
      if (bins !== null) return bins;
    }
    return [];
  }

  async #step(name: string, command: string, args: string[], cwd: string, at: CommandPlace): Promise<void> {
    at.request.onLine(`$ ${[command, ...args].join(" ")}`);
    const mark = randomUUID();
    const env: Record<string, string> = {
      ...stepEnvironment(this.#environment, at, command),
      [stepMark]: mark,
    };
    const { user } = at;
    const endLeft = () => (user ? endUser(user.uid) : endMarked(mark));
    const program = await programOf(command, cwd, env.PATH!);
    const launch = await this.#walls.enclose({
      command: [program, ...args],
      cwd,
      environment: env,
      user: user ?? { uid: process.getuid!(), gid: process.getgid!() },
      home: at.home,
      mounts: [
        ...(await programMounts(program)),
        // Each bin of a manager lies in the folder with the manager itself.
        ...at.bins.map((bin) => ({ from: dirname(bin) })),
        ...[at.tree, at.home, at.scratch, at.cache].map((from) => ({ from, writable: true })),
      ],
      privateFiles: false,
    });
    try {
      await runStep({ ...at.place(), command, args, cwd, env, launch, endLeft });
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      if (/ENOSPC|No space left/i.test(error.tail(40))) throw diskFull();
      throw new AppError({
        code: "build.failed",
        kind: "invalid",
        message: `${name} failed (${[command, ...args].join(" ")}: ${error.ending}). Its last lines:\n${error.tail()}`,
      });
    }
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
