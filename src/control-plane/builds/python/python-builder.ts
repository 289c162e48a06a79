import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { exists } from "../../../platform/exists.ts";
import { buildRefused } from "../project-files.ts";
import type { PythonProject } from "../python-project.ts";
import { isInside } from "../source-tree.ts";
import { type Dependencies, readDependencies } from "./dependency-folders.ts";
import { Interpreters } from "./find-interpreters.ts";
import {
  chooseInterpreter,
  fetchablePython,
  type Interpreter,
  noInterpreter,
  type WantedPython,
  wantedPython,
} from "./interpreter.ts";
import { indexOfEnvironment, mergeIndexes, type PackageIndex, parsePipConfig } from "./package-index.ts";
import type { Installer } from "./plan-python-install.ts";
import { PythonBuild, type PythonPlace, treeInServers } from "./python-build.ts";
import { type Provided, PythonTools } from "./python-tools.ts";

export type PythonBuilderOptions = {
  interpreters: Interpreters;
  tools: PythonTools;
  /** What builds may see of the machine's environment. */
  environment: Record<string, string>;
  /** How long the imports of a project may take; 120 s if not given. */
  importLimitMs?: number | undefined;
  /** Whether builds run in a sandbox, as users of their own, or neither. */
  isolation(): Promise<"sandbox" | "users" | "none" | "containers">;
};

/** Our side of the servers, in this package. */
const ownFolder = fileURLToPath(new URL("../../../../python", import.meta.url));

/** The Pythons of this machine, those that builds below this folder fetched too. */
export function machinePythons(options: {
  folder: string;
  environment: Record<string, string>;
  named: readonly string[];
}): Interpreters {
  const { environment, named, folder } = options;
  return new Interpreters({ environment, named, fetched: PythonTools.pythonsIn(join(folder, "tools")) });
}

type ToolPlace = Parameters<PythonTools["uv"]>[1];

/** Models and large packages take a minute; an import that waits for what only the server has would take for ever. */
const defaultImportMs = 120_000;

/** Files that pip reads on a machine, the weakest first. */
const pipConfigFiles = ["/etc/pip.conf", "/etc/xdg/pip/pip.conf"];

/** Begins the Python part of builds: which Python, which installer, which index. */
export class PythonBuilder {
  readonly #options: PythonBuilderOptions;

  constructor(options: PythonBuilderOptions) {
    this.#options = options;
  }

  /** What the key of an artifact has to record of this machine, for each installer that may be used. */
  async describeMachine(installer: Installer): Promise<string[]> {
    return [installer, process.platform, process.arch, ...(await this.#options.interpreters.describe())];
  }

  async begin(project: PythonProject, at: PythonPlace, place: ToolPlace): Promise<PythonBuild> {
    const folder = join(at.tree, dirname(at.configPath));
    const dependencies = await readDependencies(at.tree, dirname(at.configPath), project.dependencies);
    const wanted = await readWanted(project, dependencies, folder);
    const found = await this.#find();
    const suited = chooseInterpreter(found.usable, wanted);
    const uv =
      project.installer === "pip" && suited
        ? { reason: "pip_installer asks for pip" }
        : await this.#options.tools.uv(suited ?? found.usable[0] ?? null, place);
    const interpreter = suited ?? (await this.#fetch(wanted, uv, place));
    const installer = this.#chooseInstaller(project, uv, at);
    const machine = await this.#machineIndex();
    const index = mergeIndexes(machine, await readPipConfig(project, at.tree, folder));
    const wheels = machine.findLinks.filter((link) => isAbsolute(link));
    const treeSeen = (await this.#options.isolation()) === "sandbox" ? treeInServers : at.tree;
    const program = "program" in uv ? uv.program : null;
    const facts = { project, dependencies, interpreter, uv: program, installer, index };
    const importLimitMs = this.#options.importLimitMs ?? defaultImportMs;
    return new PythonBuild({ ...facts, wheels, ownFolder, treeSeen, importLimitMs }, at);
  }

  async #find() {
    const forOthers = process.getuid?.() === 0 && (await this.#options.isolation()) === "users";
    return this.#options.interpreters.find({ forOthers });
  }

  async #fetch(wanted: WantedPython, uv: Provided, place: ToolPlace): Promise<Interpreter> {
    const minor = fetchablePython(wanted);
    let reason: string | null = null;
    if (minor !== null && "program" in uv)
      reason = await this.#options.tools.fetchPython(uv.program, minor, place);
    else if ("reason" in uv) reason = `there is no uv (${uv.reason})`;
    const found = await this.#find();
    const suited = chooseInterpreter(found.usable, wanted);
    if (suited) return suited;
    throw buildRefused(noInterpreter(wanted, found, reason));
  }

  #chooseInstaller({ installer }: PythonProject, uv: Provided, at: PythonPlace): Installer {
    if (installer === "pip") return "pip";
    if ("program" in uv) return "uv";
    const words = `uv is not on this machine and cannot be downloaded: ${uv.reason}`;
    if (installer === "uv") throw buildRefused(`pip_installer requires uv. ${words}`);
    at.onLine(`${words} pip is used instead.`);
    return "pip";
  }

  async #machineIndex(): Promise<PackageIndex> {
    const texts = await Promise.all(pipConfigFiles.map(readIfThere));
    const { environment } = this.#options;
    return mergeIndexes(...texts.map((text) => parsePipConfig(text ?? "")), indexOfEnvironment(environment));
  }
}

async function readWanted(
  { pythonVersion }: PythonProject,
  { folders }: Dependencies,
  folder: string,
): Promise<WantedPython> {
  const requires = folders
    .map(({ pyproject }) => pyproject?.requiresPython ?? null)
    .find((range) => range !== null);
  const versionFile = await readIfThere(join(folder, ".python-version"));
  const wanted = wantedPython({ pythonVersion, versionFile, requires: requires ?? null });
  if ("problem" in wanted) throw buildRefused(`${wanted.problem}.`);
  return wanted;
}

async function readPipConfig(
  { pipConfigFile }: PythonProject,
  tree: string,
  folder: string,
): Promise<PackageIndex> {
  if (pipConfigFile === null) return mergeIndexes();
  const path = join(folder, pipConfigFile);
  if (!isInside(tree, path) || !(await exists(path)))
    throw buildRefused(`pip_config_file is ${pipConfigFile}, which is not a file of the source.`);
  return parsePipConfig(await readFile(path, "utf8"));
}

async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "EISDIR" || error.code === "EACCES") return null;
    throw error;
  });
}
