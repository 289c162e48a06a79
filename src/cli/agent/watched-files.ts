import { basename, dirname, extname, join, relative, resolve, sep } from "node:path";

/** Where a change of a project is looked for. */
export type WatchedPlaces = {
  /** With everything below them. */
  folders: string[];
  /** Files that are watched under any name: the project file and its env file. */
  files: string[];
};

const sources = new Set([".py", ".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs", ".jsx"]);
const named = new Set(["package.json", "tsconfig.json", "pyproject.toml"]);
const ignoredFolders = new Set(["node_modules", "__pycache__", "venv", "site-packages"]);

/** The project's folder, and folders outside it that it names as dependencies. A file that cannot be read names none. */
export function watchedPlaces(projectFile: string, text: string): WatchedPlaces {
  const { dependencies, env } = parsed(text);
  const directory = dirname(projectFile);
  const local = (Array.isArray(dependencies) ? dependencies : [])
    .filter((each): each is string => typeof each === "string" && /^\.{1,2}(\/|$)|^\//.test(each))
    .map((each) => resolve(directory, each));
  const folders = [directory, ...local].filter(
    (folder, place, all) => !all.some((other, at) => at !== place && isWithin(folder, other, at < place)),
  );
  return { folders, files: [projectFile, ...(typeof env === "string" ? [resolve(directory, env)] : [])] };
}

/** Whether a change of the file is a change of the project. What a graph writes beside its code is none. */
export function isWatchedFile(path: string, { files }: WatchedPlaces): boolean {
  const name = basename(path);
  return sources.has(extname(name)) || named.has(name) || files.includes(path);
}

/** Hidden folders among them: .git, .venv, .treadle-agent. */
export function isWatchedFolder(name: string): boolean {
  return !name.startsWith(".") && !ignoredFolders.has(name);
}

/** Every virtual environment has this file, under any name. */
export function environmentMark(folder: string): string {
  return join(folder, "pyvenv.cfg");
}

function parsed(text: string): { dependencies?: unknown; env?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function isWithin(folder: string, other: string, orSame: boolean): boolean {
  const path = relative(other, folder);
  return path === "" ? orSame : path !== ".." && !path.startsWith(`..${sep}`);
}
