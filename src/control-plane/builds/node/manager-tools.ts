import { randomUUID } from "node:crypto";
import { chmod, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../platform/errors.ts";
import { KeyedLock } from "../../../platform/keyed-lock.ts";
import { findProgram, isProgram } from "../../sandbox/find-program.ts";
import { openToReaders } from "../../sandbox/open-to-readers.ts";
import type { BuildPlace } from "../build-request.ts";
import { runStep, StepFailed } from "../build-step.ts";
import { type Manager, managerPackage } from "./package-manager.ts";

export type ManagerToolsOptions = { folder: string; environment: Record<string, string> };

/** Package managers the machine does not have, fetched once from the npm registry and kept beside the builds. */
export class ManagerTools {
  readonly #folder: string;
  readonly #environment: Record<string, string>;
  readonly #lock = new KeyedLock();

  constructor({ folder, environment }: ManagerToolsOptions) {
    this.#folder = folder;
    this.#environment = environment;
  }

  /** Folders to put before PATH so that this package manager is found; none when the machine has it. */
  async provide(manager: Manager, version: string | null, place: BuildPlace): Promise<string[]> {
    if (manager === "npm") return [];
    if (version === null && (await findProgram(manager, this.#environment.PATH ?? "")) !== null) return [];
    return [await this.#lock.run(`${manager}@${version}`, () => this.#fetch(manager, version, place))];
  }

  async #fetch(manager: Exclude<Manager, "npm">, version: string | null, place: BuildPlace): Promise<string> {
    const tool = managerPackage(manager, version);
    const home = join(this.#folder, tool.spec.replaceAll("/", "_"));
    const bin = join(home, "bin");
    if (await isProgram(join(bin, manager))) return bin;
    place.onLine(`Downloading ${tool.spec}, which this build needs.`);
    const fresh = join(this.#folder, `.${randomUUID()}`);
    try {
      await mkdir(fresh, { recursive: true, mode: 0o755 });
      await writeFile(join(fresh, "package.json"), "{}");
      // Scripts of packages have no business running here.
      const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", tool.spec];
      const env = { ...this.#environment, HOME: fresh, npm_config_update_notifier: "false" };
      await runStep({ ...place, command: "npm", args, cwd: fresh, env });
      await writeShim(fresh, home, manager, tool);
      await openToReaders(fresh);
      await rename(fresh, home).catch(async (error: NodeJS.ErrnoException) => {
        // Another process of the platform was faster.
        if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
      });
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      throw new AppError({
        code: "build.manager_missing",
        kind: "invalid",
        message: `${manager} is not installed on this machine and ${tool.spec} could not be downloaded. Install it, or check the npm registry. Output of npm:\n${error.tail(8)}`,
      });
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
    return bin;
  }
}

async function writeShim(
  fresh: string,
  home: string,
  manager: string,
  tool: ReturnType<typeof managerPackage>,
): Promise<void> {
  const program = join(home, "node_modules", tool.program);
  const run = tool.runs === "node" ? `"${process.execPath}" "${program}"` : `"${program}"`;
  await mkdir(join(fresh, "bin"), { mode: 0o755 });
  const shim = join(fresh, "bin", manager);
  await writeFile(shim, `#!/bin/sh\nexec ${run} "$@"\n`, { mode: 0o755 });
  await chmod(join(fresh, "node_modules", tool.program), 0o755);
}
