import { randomUUID } from "node:crypto";
import { basename, dirname, join, resolve } from "node:path";
import { AppError } from "../../platform/errors.ts";
import { exists } from "../../platform/exists.ts";
import type { Mount } from "../sandbox/bubblewrap.ts";
import { findProgram, type Walls } from "../sandbox/walls.ts";
import { stepEnvironment } from "./build-environment.ts";
import type { BuildRequest } from "./build-request.ts";
import { notStarted, runStep, StepFailed } from "./build-step.ts";
import type { BuildLease } from "./build-user.ts";
import { splitCommand } from "./command-guard.ts";
import { diskFull } from "./disk-full.ts";
import { endMarked, endUser, stepMark } from "./left-processes.ts";
import type { ManagerTools } from "./manager-tools.ts";
import { readPackageFolders } from "./package-folders.ts";
import { managers, planInstall } from "./package-manager.ts";

export type PlaceOf = () => {
  workFolder: string;
  timeoutMs: number;
  signal: AbortSignal;
  onLine(line: string): void;
};

/** Where and as whom a project's commands run. */
type BuildPlace = BuildLease & {
  tree: string;
  request: BuildRequest;
  place: PlaceOf;
  /** Folders of package managers that were fetched for it. */
  bins: string[];
};

/** Install, then build, with nothing of either left running. */
export function createBuildCommands(options: {
  tools: ManagerTools;
  environment: Record<string, string>;
  walls: Walls;
}) {
  const { tools, walls } = options;

  async function install(at: BuildPlace, configPath: string): Promise<void> {
    const { request, tree, place } = at;
    const { install_command: command } = request.buildConfig;
    if (command) {
      await request.note(`Installing: ${command}`, 30);
      await runAll("install_command", command, tree, at);
      return;
    }
    const plan = planInstall(await readPackageFolders(tree, dirname(configPath)));
    if (!plan) {
      request.onLine("No package.json: nothing to install.");
      return;
    }
    const shown = [plan.command, ...plan.args].join(" ");
    await request.note(`Installing: ${shown} (${plan.because})`, 30);
    at.bins.push(...(await tools.provide(plan.command, plan.version, place())));
    await step("install", plan.command, plan.args, join(tree, plan.folder), at);
  }

  async function build(at: BuildPlace, configPath: string): Promise<void> {
    const { build_command: command } = at.request.buildConfig;
    if (!command) return;
    await at.request.note(`Building: ${command}`, 50);
    await runAll("build_command", command, join(at.tree, dirname(configPath)), at);
  }

  async function runAll(name: string, command: string, cwd: string, at: BuildPlace) {
    for (const [program, ...args] of splitCommand(command)) {
      const manager = managers.find((known) => known === program);
      if (manager && at.bins.length === 0) at.bins.push(...(await tools.provide(manager, null, at.place())));
      await step(name, program!, args, cwd, at);
    }
  }

  async function step(name: string, command: string, args: string[], cwd: string, at: BuildPlace) {
    at.request.onLine(`$ ${[command, ...args].join(" ")}`);
    const mark = randomUUID();
    const env: Record<string, string> = {
      ...stepEnvironment(options.environment, at, command),
      [stepMark]: mark,
    };
    const { user } = at;
    const endLeft = () => (user ? endUser(user.uid) : endMarked(mark));
    const program = await programOf(command, cwd, env.PATH!);
    const launch = await walls.enclose({
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

  /** Checked first: without the program the sandbox would fail, with a message of its own. */
  async function programOf(command: string, cwd: string, path: string): Promise<string> {
    const found = command.includes("/") ? resolve(cwd, command) : await findProgram(command, path);
    if (found !== null && (await exists(found))) return found;
    throw notStarted(command, Object.assign(new Error("not found"), { code: "ENOENT" }));
  }

  return {
    async run(
      lease: BuildLease,
      facts: { tree: string; configPath: string; request: BuildRequest; place: PlaceOf },
    ): Promise<void> {
      const at: BuildPlace = { ...lease, ...facts, bins: [] };
      await install(at, facts.configPath);
      await build(at, facts.configPath);
    },
  };
}

/** A program installed outside of the system's own folders comes with what lies beside it. */
async function programMounts(program: string): Promise<Mount[]> {
  if (/^\/(usr|bin|sbin)\//.test(program)) return [];
  const folder = dirname(program);
  const prefix = dirname(folder);
  const isPrefix = basename(folder) === "bin" && (await exists(join(prefix, "lib", "node_modules")));
  return [{ from: isPrefix ? prefix : folder }];
}
