import { sizeProblem } from "./pack-files.ts";
import { configPaths, nameFor, type ProjectFacts, readFacts } from "./project-facts.ts";
import { chooseFiles, type LeftOut } from "./project-files.ts";
import type { FolderFile, ReadFolder } from "./read-folder.ts";

/** A folder that was looked into: what would be uploaded, and what was found in it. */
export type FolderProject = {
  folder: string;
  files: FolderFile[];
  bytes: number;
  left: LeftOut;
  configs: string[];
  facts: Record<string, ProjectFacts | { problem: string }>;
  /** Why it cannot be uploaded; null when it can. */
  problem: string | null;
  name: string;
  /** Files of variables that are in the folder and stay out of the upload, with their text. */
  envFiles: Record<string, string>;
};

/** Ignore files and files of variables are small; what is not is none. */
const mostTextBytes = 1024 * 1024;

export async function lookInto({ name: folder, files, skipped }: ReadFolder): Promise<FolderProject> {
  const byPath = new Map(files.map(({ path, file }) => [path, file]));
  const textOf = async (path: string) => {
    const file = byPath.get(path);
    return file && file.size <= mostTextBytes ? file.text() : null;
  };
  const textsOf = async (paths: readonly string[]) =>
    (await Promise.all(paths.map(async (path) => [path, await textOf(path)] as const))).filter(
      (each): each is [string, string] => each[1] !== null,
    );
  const paths = files.map(({ path }) => path);
  const ignores = paths.filter((path) => path === ".dockerignore" || /(^|\/)\.gitignore$/.test(path));
  const { kept, left } = chooseFiles(paths, new Map(await textsOf(ignores)));
  const chosen = new Set(kept);
  const configs = configPaths(kept);
  const facts = (await textsOf(configs)).map(([path, text]) => [path, readFacts(text, path, kept)]);
  const uploaded = files
    .filter(({ path }) => chosen.has(path))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
  const bytes = uploaded.reduce((sum, { file }) => sum + file.size, 0);
  return {
    folder,
    files: uploaded,
    bytes,
    left: { ...left, installed: [...new Set([...left.installed, ...skipped])].sort() },
    configs,
    facts: Object.fromEntries(facts),
    problem:
      configs.length === 0
        ? `There is no langgraph.json in ${folder}. Choose the project's own folder, or start with a template.`
        : sizeProblem(uploaded.length, bytes),
    name: nameFor(await textOf("package.json"), folder),
    envFiles: Object.fromEntries(await textsOf(left.secret)),
  };
}
