import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError } from "../../platform/errors.ts";
import { exists } from "../../platform/exists.ts";
import type { PythonProject } from "./python-project.ts";
import { isInside, listBrokenNames, sizeOf } from "./source-tree.ts";

export type ProjectCheck = {
  /** What is wrong with the file; empty when nothing is. */
  problems: string[];
  /** Files it names, from its own folder. */
  files: string[];
  usesOwnAuth: boolean;
  nodeVersion: string | null;
  /** Null where no part of the project is Python. */
  python: PythonProject | null;
  /** What the file asks for and does not get here; it stops nothing. */
  warnings: string[];
};

/** Reads the project file of a source; refuses one that cannot be used. */
export async function readProject(
  tree: string,
  configPath: string,
  check: (text: string, path: string) => ProjectCheck,
): Promise<ProjectCheck> {
  const text = await readFile(join(tree, configPath), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" && error.code !== "ENOTDIR" && error.code !== "EISDIR") throw error;
    throw buildRefused(`There is no file ${configPath} in the source. Add it, or set graph_config_path.`);
  });
  const project = check(text, configPath);
  const folder = join(tree, dirname(configPath));
  const outside = project.files.filter((file) => !isInside(tree, join(folder, file)));
  const problems = [...project.problems, ...outside.map((file) => `${file} is outside the source`)];
  if (problems.length > 0) throw buildRefused(`${configPath} cannot be used:\n  ${problems.join("\n  ")}`);
  return project;
}

/** After the build command, which may have made them. */
export async function requireFiles(
  tree: string,
  configPath: string,
  project: Pick<ProjectCheck, "files">,
): Promise<void> {
  const folder = join(tree, dirname(configPath));
  const missing: string[] = [];
  for (const file of project.files) if (!(await exists(join(folder, file)))) missing.push(file);
  if (missing.length === 0) return;
  throw buildRefused(
    `${configPath} names files that do not exist: ${missing.join(", ")}. Correct the paths.`,
  );
}

export async function requireSize(tree: string, maxBytes: number): Promise<number> {
  const bytes = await sizeOf(tree, maxBytes);
  if (bytes <= maxBytes) return bytes;
  throw buildRefused(
    `The built project is larger than the limit of ${Math.round(maxBytes / 1024 / 1024)} MB. Remove files that are not needed, or raise TREADLE_BUILD_MAX_MB.`,
  );
}

/** Refuses line breaks in names and in what links lead to: in an archive they would stand for something else. */
export async function requirePlainNames(tree: string): Promise<void> {
  const broken = await listBrokenNames(tree);
  if (broken.length === 0) return;
  const names = broken.slice(0, 10).map((name) => JSON.stringify(name));
  throw buildRefused(
    `The built project has files or links with a line break in their name or target: ${names.join(", ")}. Rename or remove them.`,
  );
}

/**
 * What a project's own tool printed when it failed, and what it comes down to where that is known. `isLogged`: the log has the
 * output already, line by line.
 */
export type ToolOutput = {
  output: readonly string[];
  reason?: string | null;
  isLogged?: boolean | undefined;
};

/** A build that failed, with the words of the project's own tool where one ran. */
export class BuildFailed extends AppError {
  readonly tool: ToolOutput | null;

  constructor(message: string, tool: ToolOutput | null) {
    super({ code: "build.failed", kind: "invalid", message });
    this.tool = tool;
  }
}

export function buildRefused(message: string, tool: ToolOutput | null = null): BuildFailed {
  return new BuildFailed(message, tool);
}
