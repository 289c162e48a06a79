import { randomUUID } from "node:crypto";
import { access, chmod, constants, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { AppError } from "../../platform/errors.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import { openToReaders } from "../sandbox/open-to-readers.ts";
import { runStep, StepFailed } from "./build-step.ts";
import { type Manager, managerPackage } from "./package-manager.ts";

type Place = { workFolder: string; timeoutMs: number; signal: AbortSignal; onLine(line: string): void };

export type ManagerToolsOptions = { folder: string; environment: Record<string, string> };

/** Package managers the machine does not have, fetched once from the npm registry and kept beside the builds. */
export function createManagerTools({ folder, environment }: ManagerToolsOptions) {
  const lock = new KeyedLock();

  async function fetchTool(manager: Exclude<Manager, "npm">, version: string | null, place: Place) {
    const tool = managerPackage(manager, version);
    const home = join(folder, tool.spec.replaceAll("/", "_"));
    const bin = join(home, "bin");
    if (await isThere(join(bin, manager))) return bin;
    place.onLine(`Fetching ${tool.spec}, which this build needs.`);
    const fresh = join(folder, `.${randomUUID()}`);
    try {
      await mkdir(fresh, { recursive: true, mode: 0o755 });
      await writeFile(join(fresh, "package.json"), "{}");
      // Scripts of packages have no business running here.
      const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", tool.spec];
      const env = { ...environment, HOME: fresh, npm_config_update_notifier: "false" };
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
        message: `${manager} is not installed on this machine and ${tool.spec} could not be fetched. Install it, or check the npm registry. npm said:\n${error.tail(8)}`,
      });
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
    return bin;
  }

  return {
    /** Folders to put before PATH so that this package manager is found; none when the machine has it. */
    async provide(manager: Manager, version: string | null, place: Place): Promise<string[]> {
      if (manager === "npm") return [];
      if (version === null && (await isOnPath(manager, environment.PATH ?? ""))) return [];
      return [await lock.run(`${manager}@${version}`, () => fetchTool(manager, version, place))];
    },
  };
}

export type ManagerTools = ReturnType<typeof createManagerTools>;

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

async function isOnPath(program: string, path: string): Promise<boolean> {
  for (const folder of path.split(delimiter)) {
    if (folder !== "" && (await isThere(join(folder, program)))) return true;
  }
  return false;
}

function isThere(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
