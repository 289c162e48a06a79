import { randomUUID } from "node:crypto";
import { mkdir, realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { KeyedLock } from "../../../platform/keyed-lock.ts";
import { findProgram } from "../../sandbox/find-program.ts";
import { openToReaders } from "../../sandbox/open-to-readers.ts";
import { runStep, StepFailed } from "../build-step.ts";
import type { Interpreter } from "./interpreter.ts";

type Place = { workFolder: string; timeoutMs: number; signal: AbortSignal; onLine(line: string): void };

export type PythonToolsOptions = {
  /** Fetched programs are kept in it. */
  folder: string;
  environment: Record<string, string>;
};

/** What is fetched where the machine has no uv of its own. */
export const uvVersion = "0.13.7";

/** A program, or why there is none. */
export type Provided = { program: string } | { reason: string };

/** uv and Pythons that the machine does not have, fetched once and kept beside the builds. */
export class PythonTools {
  readonly #folder: string;
  readonly #environment: Record<string, string>;
  readonly #lock = new KeyedLock();

  constructor({ folder, environment }: PythonToolsOptions) {
    this.#folder = folder;
    this.#environment = environment;
  }

  /** Where fetched Pythons are, a folder each. */
  static pythonsIn(folder: string): string {
    return join(folder, "pythons");
  }

  /** The machine's uv, or one that is fetched by its Python. */
  async uv(python: Interpreter | null, place: Place): Promise<Provided> {
    const own = await findProgram("uv", this.#environment.PATH ?? "");
    if (own !== null) return { program: await realpath(own) };
    return this.#lock.run("uv", () => this.#fetchUv(python, place));
  }

  /** Asks uv for a Python of this minor version; null when it is there afterwards, else why not. */
  async fetchPython(uv: string, minor: string, place: Place): Promise<string | null> {
    return this.#lock.run(`python ${minor}`, async () => {
      place.onLine(`Downloading Python ${minor}, which this build needs.`);
      const folder = PythonTools.pythonsIn(this.#folder);
      await mkdir(folder, { recursive: true, mode: 0o755 });
      const env = { ...this.#environment, HOME: folder, UV_CACHE_DIR: join(folder, ".cache") };
      const args = ["python", "install", "--no-bin", "--install-dir", folder, minor];
      try {
        await runStep({ ...place, command: uv, args, cwd: folder, env });
        await openToReaders(folder);
        return null;
      } catch (error) {
        return reasonOf(error);
      } finally {
        await rm(join(folder, ".cache"), { recursive: true, force: true });
      }
    });
  }

  async #fetchUv(python: Interpreter | null, place: Place): Promise<Provided> {
    const home = join(this.#folder, `uv-${uvVersion}`);
    const program = join(home, "bin", "uv");
    if ((await findProgram("uv", join(home, "bin"))) !== null) return { program };
    if (!python) return { reason: "without a Python it cannot be downloaded" };
    place.onLine(`Downloading uv ${uvVersion}, which this build needs.`);
    const fresh = join(this.#folder, `.${randomUUID()}`);
    try {
      await mkdir(fresh, { recursive: true, mode: 0o755 });
      await this.#install(python.executable, fresh, place);
      await openToReaders(fresh);
      await rename(fresh, home).catch((error: NodeJS.ErrnoException) => {
        // Another process of the platform was faster.
        if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
      });
      return { program };
    } catch (error) {
      return { reason: reasonOf(error) };
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  }

  /** Debian's Python may have pip and no venv, or venv and no pip. */
  async #install(python: string, fresh: string, place: Place): Promise<void> {
    const env = { ...this.#environment, HOME: fresh, PIP_DISABLE_PIP_VERSION_CHECK: "1" };
    const run = (command: string, ...args: string[]) => runStep({ ...place, command, args, cwd: fresh, env });
    const lines = { ...place, onLine() {} };
    const hasPip = await runStep({
      ...lines,
      command: python,
      args: ["-m", "pip", "--version"],
      cwd: fresh,
      env,
    }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof StepFailed) return false;
        throw error;
      },
    );
    const maker = hasPip ? python : join(fresh, "venv", "bin", "python");
    if (!hasPip) await run(python, "-m", "venv", join(fresh, "venv"));
    const wheel = ["--no-deps", "--only-binary", ":all:", `uv==${uvVersion}`];
    await run(maker, "-m", "pip", "install", "--quiet", "--target", join(fresh, "lib"), ...wheel);
    await mkdir(join(fresh, "bin"), { mode: 0o755 });
    await rename(join(fresh, "lib", "bin", "uv"), join(fresh, "bin", "uv"));
    for (const rest of ["lib", "venv", ".cache"])
      await rm(join(fresh, rest), { recursive: true, force: true });
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof StepFailed)) throw error;
  return error.tail(3).trim() || error.message;
}
