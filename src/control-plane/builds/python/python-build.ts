import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Mount } from "../../sandbox/bubblewrap.ts";
import { buildRefused } from "../project-files.ts";
import { environmentFolder, type PythonProject } from "../python-project.ts";
import type { StepOutcome, WalledStep } from "../walled-step.ts";
import type { Dependencies } from "./dependency-folders.ts";
import { describeFault, readCheck } from "./import-check.ts";
import { explainInstall } from "./install-problem.ts";
import { type Interpreter, interpreterMounts, isOfMachine } from "./interpreter.ts";
import { describeIndex, indexEnvironment, type PackageIndex, withoutCredentials } from "./package-index.ts";
import { type Installer, planPythonInstall } from "./plan-python-install.ts";

/** `shown`: as the log shows it; null where it does not. */
export type PythonStep = Omit<WalledStep, "command"> & { shown: string | null };

/** Where a project is built, and for which workspace. */
export type PythonPlace = {
  tree: string;
  configPath: string;
  scratch: string;
  cache: string;
  note(message: string, progress: number): Promise<void>;
  onLine(line: string): void;
  run(step: PythonStep): Promise<StepOutcome>;
};

export type PythonBuildFacts = {
  project: PythonProject;
  dependencies: Dependencies;
  interpreter: Interpreter;
  /** The program of uv; null where it is not to be had. */
  uv: string | null;
  installer: Installer;
  index: PackageIndex;
  /** Folders of this machine that packages are looked for in. */
  wheels: readonly string[];
  /** Our side of the servers, from which the check is taken. */
  ownFolder: string;
  /** Where a server sees the source; the source's own place without a sandbox. */
  treeSeen: string;
  /** How long everything that the project file names may take to import. */
  importLimitMs: number;
};

/** Where a sandboxed server sees its project. */
export const treeInServers = "/srv/project";
/** The Python part of one build: an environment beside the project file, what goes into it, and whether it can be imported. */
export class PythonBuild {
  readonly #facts: PythonBuildFacts;
  readonly #at: PythonPlace;
  readonly #folder: string;
  /** The virtual environment. */
  readonly environment: string;

  constructor(facts: PythonBuildFacts, at: PythonPlace) {
    this.#facts = facts;
    this.#at = at;
    this.#folder = join(at.tree, dirname(at.configPath));
    this.environment = join(this.#folder, environmentFolder);
  }

  get installer(): Installer {
    return this.#facts.installer;
  }

  /** What a project's own commands need to use the environment. */
  get variables(): Record<string, string> {
    const { index } = this.#facts;
    const { cache } = this.#at;
    return {
      ...indexEnvironment(index),
      VIRTUAL_ENV: this.environment,
      UV_PROJECT_ENVIRONMENT: this.environment,
      // Regardless of a .python-version: the environment already exists.
      UV_PYTHON: join(this.environment, "bin", "python"),
      UV_PYTHON_DOWNLOADS: "never",
      UV_CACHE_DIR: join(cache, "uv"),
      // A link into the cache would change with the cache, and have the cache's owner.
      UV_LINK_MODE: "copy",
      // The source moves after the build.
      UV_NO_EDITABLE: "1",
      UV_VENV_RELOCATABLE: "1",
      UV_NO_PROGRESS: "1",
      PIP_CACHE_DIR: join(cache, "pip"),
      PIP_DISABLE_PIP_VERSION_CHECK: "1",
      PIP_NO_INPUT: "1",
      PIP_PROGRESS_BAR: "off",
    };
  }

  /** Folders of programs for the project's own commands: those of the environment, and uv. */
  get bins(): string[] {
    const { uv } = this.#facts;
    return [join(this.environment, "bin"), ...(uv === null ? [] : [dirname(uv)])];
  }

  get mounts(): Mount[] {
    const { interpreter, uv, wheels } = this.#facts;
    return [
      ...interpreterMounts(interpreter),
      ...(uv === null || isOfMachine(uv) ? [] : [{ from: uv }]),
      ...wheels.map((from) => ({ from, optional: true })),
    ];
  }

  /** An empty environment; `withPip` for commands of the project's own. */
  async makeEnvironment({ withPip }: { withPip: boolean }): Promise<void> {
    const { interpreter, uv, installer } = this.#facts;
    // One that was committed was made for another machine.
    await rm(this.environment, { recursive: true, force: true });
    this.#at.onLine(
      `Python ${interpreter.version.join(".")} at ${interpreter.executable} (${interpreter.from})`,
    );
    const needsPip = withPip || installer === "pip";
    if (uv !== null) {
      const args = ["venv", "--quiet", "--relocatable", "--no-project", ...(needsPip ? ["--seed"] : [])];
      await this.#uv([...args, "--python", interpreter.executable, this.environment], this.#folder);
      return;
    }
    // Isolated: a module of that name in the project would run instead.
    const args = ["-I", "-m", "venv", this.environment];
    const outcome = await this.#run(interpreter.executable, args, this.#folder);
    if (outcome.failed)
      throw buildRefused(
        `Python ${interpreter.version.join(".")} cannot create an environment. Install its venv module (Debian: python3-venv), or uv. Its last lines:\n${tail(outcome.lines)}`,
      );
  }

  async install(): Promise<void> {
    const { dependencies, installer } = this.#facts;
    const plan = planPythonInstall(dependencies, { installer, scratch: this.#at.scratch });
    if ("problem" in plan) throw buildRefused(plan.problem);
    for (const line of plan.notes) await this.#at.note(line, 30);
    for (const { name, text } of plan.files)
      await writeFile(join(this.#at.scratch, name), text, { mode: 0o644, flag: "wx" });
    await this.#at.note(`Installing with ${installer} (${plan.because})`, 30);
    this.#paths = plan.paths;
    for (const { folder, args } of plan.steps) {
      const cwd = join(this.#folder, folder);
      if (installer === "uv") await this.#uv(intoEnvironment(args, this.environment), cwd);
      else await this.#pip(args.slice(1), cwd);
    }
  }

  #paths: string[] = [];

  /** After the project's own commands, which may have changed it. */
  async finish(): Promise<void> {
    const { treeSeen, ownFolder } = this.#facts;
    const { tree } = this.#at;
    const python = join(this.environment, "bin", "python");
    const settled = await this.#at.run({
      ...this.#step(python, ["-I", join(ownFolder, "treadle_python", "settle.py")], this.#folder),
      shown: null,
      input: JSON.stringify({
        root: tree,
        project: this.#folder,
        environment: this.environment,
        paths: this.#paths,
        seen: treeInServers,
      }),
    });
    if (settled.failed)
      throw buildRefused(
        `The environment ${environmentFolder} cannot be used (${settled.ending}):\n${tail(settled.lines)}`,
      );
    await this.#check(treeSeen);
  }

  async #check(treeSeen: string): Promise<void> {
    const { project, ownFolder, dependencies, importLimitMs } = this.#facts;
    const { scratch, configPath } = this.#at;
    const result = join(scratch, `imports-${randomUUID()}.json`);
    const graphs = join(scratch, `graphs-${randomUUID()}.json`);
    const directory = join(treeSeen, dirname(configPath));
    await this.#at.note("Importing everything that the project file names", 55);
    const slow = this.#tellWhileImporting(importLimitMs);
    const step = this.#at.run({
      ...this.#step(
        join(directory, environmentFolder, "bin", "python"),
        ["-u", "-c", startCheck, ownFolder],
        directory,
      ),
      shown: null,
      treeAt: treeSeen,
      timeoutMs: importLimitMs,
      input: JSON.stringify({
        directory,
        dependencies: dependencies.folders.map(({ folder }) => join(directory, folder)),
        imports: project.imports.map(({ what, place, exportName, graphId }) => ({
          ...{ what, exportName, ...place },
          ...(graphId === undefined ? {} : { graphId }),
        })),
        ...{ result, graphs },
      }),
    });
    const ended = await step.finally(() => clearInterval(slow));
    const faults = await readCheck(result);
    if (faults === null) {
      const why = ended.failed
        ? `${ended.ending}: ${ended.lines.at(-1) ?? "nothing was printed"}`
        : "no result";
      await this.#at.note(
        `Warning: the imports could not be checked (${why}). Errors will show when the server starts.`,
        57,
      );
      return;
    }
    const texts = (missing: boolean) =>
      faults
        .filter((fault) => fault.missing === missing)
        .map((fault) => describeFault(fault, [directory, treeSeen]));
    for (const text of texts(false))
      await this.#at.note(`Warning: ${text}. The server may have what this needs, such as a key.`, 57);
    const missing = texts(true);
    if (missing.length > 0)
      throw buildRefused(`${configPath} names things that cannot be imported:\n  ${missing.join("\n  ")}`, {
        output: missing,
      });
    await this.#keepDescriptions(graphs);
  }

  #tellWhileImporting(limitMs: number): NodeJS.Timeout {
    const begun = performance.now();
    return setInterval(() => {
      const seconds = Math.round((performance.now() - begun) / 1000);
      this.#at.onLine(`Still importing after ${seconds} s; it may take ${limitMs / 1000} s.`);
    }, limitMs / 12);
  }

  /**
   * Writes them into the environment, as the build's user. Servers read there what the graphs declare; otherwise they
   * ask Python.
   */
  async #keepDescriptions(graphs: string): Promise<void> {
    const kept = join(this.environment, "treadle-graphs.json");
    const copied = await this.#at.run({
      ...this.#step(
        join(this.environment, "bin", "python"),
        ["-I", "-c", copyFile, graphs, kept],
        this.#folder,
      ),
      shown: null,
    });
    if (copied.failed)
      this.#at.onLine(
        `The descriptions of the graphs were not stored (${copied.ending}); servers compute them.`,
      );
  }

  async #uv(args: string[], cwd: string): Promise<void> {
    const outcome = await this.#run(this.#facts.uv!, args, cwd);
    if (outcome.failed) throw this.#failed("uv", args, outcome);
  }

  async #pip(args: string[], cwd: string): Promise<void> {
    const python = join(this.environment, "bin", "python");
    const outcome = await this.#run(python, ["-m", "pip", ...args], cwd);
    if (outcome.failed) throw this.#failed("pip", args, outcome);
  }

  #failed(installer: Installer, args: string[], { ending, lines }: StepOutcome & { failed: true }) {
    const { index, interpreter } = this.#facts;
    const facts = { installer, index: describeIndex(index), python: interpreter.version.join(".") };
    const why = explainInstall(lines, facts);
    return buildRefused(
      `${installer} could not install the packages${why === null ? "" : `: ${why}`}\n(${[installer, ...args].join(" ")}: ${ending}.) Its last lines:\n${withoutCredentials(tail(lines))}`,
      { output: lines.map(withoutCredentials), reason: why, isLogged: true },
    );
  }

  #run(program: string, args: string[], cwd: string): Promise<StepOutcome> {
    return this.#at.run(this.#step(program, args, cwd));
  }

  #step(program: string, args: string[], cwd: string): PythonStep {
    return {
      ...{ program, args, cwd },
      shown: [basename(program), ...args].join(" "),
      environment: this.variables,
      mounts: [...this.mounts, { from: this.#facts.ownFolder }],
    };
  }
}

/** `sync` finds the environment by a variable. */
function intoEnvironment([command, ...args]: string[], environment: string): string[] {
  return command === "pip"
    ? ["pip", args[0]!, "--python", environment, ...args.slice(1)]
    : [command!, ...args];
}

const copyFile = "import shutil, sys; shutil.copyfile(sys.argv[1], sys.argv[2])";
const startCheck =
  "import sys; sys.path[0] = sys.argv[1]; from treadle_python.check import main; del sys.path[0]; main()";

function tail(lines: readonly string[]): string {
  return lines.slice(-15).join("\n");
}
