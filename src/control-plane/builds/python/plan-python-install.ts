import { posix } from "node:path";
import type { PoetryLock } from "./poetry-lock.ts";
import type { Pyproject } from "./pyproject.ts";

export const pythonInstallers = ["uv", "pip"] as const;
export type Installer = (typeof pythonInstallers)[number];

/** A folder that a project names under `dependencies`, with what decides about installing it. */
export type DependencyFolder = {
  /** As the project file writes it. */
  entry: string;
  /** From the folder of the project file. */
  folder: string;
  files: ReadonlySet<string>;
  pyproject: Pyproject | null;
  poetryLock: PoetryLock | null;
  /** Its own uv.lock, or that of the workspace it belongs to. */
  hasUvLock: boolean;
};

export type PlannedStep = {
  /** Where it runs, from the folder of the project file. */
  folder: string;
  args: string[];
};

export type PythonPlan = {
  installer: Installer;
  /** Why in this way. */
  because: string;
  steps: PlannedStep[];
  /** Folders that Python finds modules in, from the folder of the project file. */
  paths: string[];
  /** Written before the steps, into the folder that `scratch` names. */
  files: { name: string; text: string }[];
  /** What a person should know. */
  notes: string[];
};

/** The server needs it, and projects written for servers that bring it leave it out. */
export const serverNeeds = "langgraph>=0.6";

/**
 * How to install what a project names under `dependencies`. A lock file decides about its folder; everything else is
 * resolved together, in one step. `scratch` is where files made for the steps are.
 */
export function planPythonInstall(
  { folders, packages }: { folders: readonly DependencyFolder[]; packages: readonly string[] },
  { installer, scratch }: { installer: Installer; scratch: string },
): PythonPlan | { problem: string } {
  const plan: PythonPlan = { installer, because: "", steps: [], paths: [], files: [], notes: [] };
  const reasons: string[] = [];
  const wanted: string[] = [];
  let stepFolder = ".";
  for (const [place, folder] of folders.entries()) {
    const planned = planFolder(folder, installer, posix.join(scratch, `poetry-${place}.txt`));
    if ("problem" in planned) return planned;
    reasons.push(planned.because);
    plan.notes.push(...planned.notes);
    if (planned.text !== undefined) plan.files.push({ name: `poetry-${place}.txt`, text: planned.text });
    if (planned.sync) plan.steps.push(syncStep(folder, plan.steps.length > 0));
    else if (planned.wanted.length > 0) {
      // Paths inside of a requirements file are read from the folder a step runs in.
      if (folders.length === 1) stepFolder = folder.folder;
      wanted.push(
        ...(folders.length === 1 ? planned.wanted : planned.wanted.map((arg) => from(folder.folder, arg))),
      );
    }
    if (!planned.installsItself) plan.paths.push(...pathsOf(folder));
  }
  if (packages.length > 0) reasons.push("packages named in dependencies");
  const args = [...wanted, ...packages, serverNeeds];
  plan.steps.push({ folder: stepFolder, args: ["pip", "install", ...args] });
  plan.because = [...new Set(reasons)].join(", ") || "no dependencies";
  return plan;
}

type PlannedFolder = {
  because: string;
  sync?: boolean;
  wanted: string[];
  /** A file for a constraint or a list of requirements. */
  text?: string;
  /** Whether the folder becomes a package; otherwise its modules are found by path. */
  installsItself: boolean;
  notes: string[];
};

function planFolder(
  folder: DependencyFolder,
  installer: Installer,
  file: string,
): PlannedFolder | { problem: string } {
  const { files, pyproject, entry } = folder;
  const notes = unread(folder, installer);
  if (pyproject && folder.hasUvLock && installer === "uv") {
    return { because: "uv.lock", sync: true, wanted: [], installsItself: pyproject.isPackage, notes };
  }
  if (pyproject?.usesPoetry && folder.poetryLock) return planPoetry(folder, folder.poetryLock, file, notes);
  if (pyproject?.isPackage || files.has("setup.py")) {
    const because = pyproject ? "pyproject.toml" : "setup.py";
    return { because, wanted: ["."], installsItself: true, notes };
  }
  if (pyproject?.hasProject && installer === "uv")
    return { because: "pyproject.toml", wanted: ["-r", "pyproject.toml"], installsItself: false, notes };
  // pip makes a package of it with setuptools, as it has always done.
  if (pyproject?.hasProject) return { because: "pyproject.toml", wanted: ["."], installsItself: true, notes };
  if (files.has("requirements.txt"))
    return { because: "requirements.txt", wanted: ["-r", "requirements.txt"], installsItself: false, notes };
  if (pyproject?.usesPoetry)
    return {
      problem: `The Poetry project in ${entry} is not a package (package-mode = false), and there is no poetry.lock to install from. Commit poetry.lock, or name the dependencies under [project].`,
    };
  return { because: `${entry} on the path`, wanted: [], installsItself: false, notes };
}

function planPoetry(
  { pyproject, entry }: DependencyFolder,
  { constraints, requirements, open }: PoetryLock,
  file: string,
  notes: string[],
): PlannedFolder {
  const said =
    open.length === 0
      ? notes
      : [
          ...notes,
          `poetry.lock of ${entry} has several versions of ${open.join(", ")}: for these, the packages that require them decide.`,
        ];
  const because = "poetry.lock";
  if (pyproject!.isPackage) {
    const text = `${constraints.join("\n")}\n`;
    return { because, wanted: [".", "-c", file], text, installsItself: true, notes: said };
  }
  const text = `${requirements.join("\n")}\n`;
  return { because, wanted: ["-r", file], text, installsItself: false, notes: said };
}

/** Files that decide nothing, although people may expect it. */
function unread({ entry, files, pyproject, hasUvLock }: DependencyFolder, installer: Installer): string[] {
  const metadata = pyproject ? "pyproject.toml" : files.has("setup.py") ? "setup.py" : null;
  const fromProject = pyproject !== null && (pyproject.isPackage || pyproject.hasProject);
  const decides = fromProject || files.has("setup.py");
  return [
    ...(hasUvLock && installer === "pip"
      ? [
          `uv.lock of ${entry} is not used: pip cannot read it, and versions come from ${metadata ?? "the index"}.`,
        ]
      : []),
    ...(files.has("requirements.txt") && decides
      ? [`requirements.txt of ${entry} is not used, because there is a ${metadata}.`]
      : []),
    ...(pyproject?.usesPoetry && !files.has("poetry.lock") && !(hasUvLock && installer === "uv")
      ? [`There is no poetry.lock in ${entry}: versions come from pyproject.toml.`]
      : []),
    ...(files.has("Pipfile") ? [`Pipfile of ${entry} is not used.`] : []),
  ];
}

/** The first one makes the environment exactly what is locked; a further one adds to it. */
function syncStep({ folder }: DependencyFolder, isFurther: boolean): PlannedStep {
  const args = ["sync", "--frozen", "--no-dev", "--no-editable", ...(isFurther ? ["--inexact"] : [])];
  return { folder, args };
}

/** An argument that is a path, seen from the folder of the project file. */
function from(folder: string, arg: string): string {
  if (arg.startsWith("/") || arg.startsWith("-")) return arg;
  const path = posix.join(folder, arg);
  return path.startsWith("..") ? path : `./${path}`;
}

/** A folder that is itself a package is found from above, as far as the project reaches. */
function pathsOf({ folder, files }: DependencyFolder): string[] {
  const isRoot = folder === "." || folder.startsWith("..");
  const own = files.has("__init__.py") && !isRoot ? posix.dirname(folder) : folder;
  return files.has("src") ? [own, posix.join(folder, "src")] : [own];
}
