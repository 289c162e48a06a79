import { folderOf } from "./project-files.ts";

export type Graph = { name: string; file: string; isThere: boolean };
export type ProjectFacts = {
  graphs: Graph[];
  languages: ("TypeScript" | "JavaScript" | "Python")[];
  /** The file of variables it names; never uploaded. */
  envFile: string | null;
};

const languageOf = (file: string): ProjectFacts["languages"][number] | null => {
  if (/\.[mc]?tsx?$/.test(file)) return "TypeScript";
  if (/\.[mc]?jsx?$/.test(file)) return "JavaScript";
  return file.endsWith(".py") ? "Python" : null;
};

/** The project files of a folder; the one nearest to its top first. */
export function configPaths(paths: readonly string[]): string[] {
  const depth = (path: string) => path.split("/").length;
  return paths
    .filter((path) => /(^|\/)langgraph\.json$/.test(path))
    .sort((one, other) => depth(one) - depth(other) || (one < other ? -1 : 1));
}

/** What a project file names, or what is wrong with it. The server reads it again and decides. */
export function readFacts(
  text: string,
  configPath: string,
  paths: readonly string[],
): ProjectFacts | { problem: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return {
      problem: `${configPath} is not JSON: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
  const { graphs, env } = (parsed ?? {}) as { graphs?: unknown; env?: unknown };
  if (typeof graphs !== "object" || graphs === null || Object.keys(graphs).length === 0) {
    return {
      problem: `${configPath} names no graphs. It needs "graphs": { "agent": "./src/agent.ts:graph" }.`,
    };
  }
  const known = new Set(paths);
  const found = Object.entries(graphs).map(([name, given]): Graph => {
    const path = typeof given === "string" ? given : String((given as { path?: unknown } | null)?.path ?? "");
    const file = inFolder(folderOf(configPath), path.replace(/:[^:/\\]*$/, ""));
    // A dotted module of an installed package has no file here.
    const isModule = !file.includes("/") && languageOf(file) === null;
    return { name, file, isThere: isModule || known.has(file) };
  });
  const languages = found.map(({ file }) => languageOf(file)).filter((language) => language !== null);
  return {
    graphs: found,
    languages: [...new Set(languages)].sort(),
    envFile: typeof env === "string" ? inFolder(folderOf(configPath), env) : null,
  };
}

/** A path a project file names, from the top of the folder. */
function inFolder(folder: string, path: string): string {
  const parts = folder === "" ? [] : folder.split("/");
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}

/** The package's name, or the folder's, as a deployment is called. */
export function nameFor(packageJson: string | null, folder: string): string {
  let given: unknown;
  try {
    given = (JSON.parse(packageJson ?? "{}") as { name?: unknown }).name;
  } catch {
    // The build reports a broken package.json; the folder has a name as well.
    given = undefined;
  }
  const name = typeof given === "string" && given !== "" ? given.replace(/^@[^/]*\//, "") : folder;
  const plain = name.toLowerCase().replace(/[^a-z0-9-]+/g, "-");
  return plain.replace(/^-+|-+$/g, "") || "agent";
}
