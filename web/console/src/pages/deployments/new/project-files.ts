import {
  isNeverPacked,
  matchRules,
  parseIgnoreFile,
} from "../../../../../../src/cli/project/ignore-rules.ts";

/** What is left out of an upload, and why. */
export type LeftOut = { ignored: number; installed: string[]; secret: string[] };

/** Whether a folder is never uploaded, with any content: no need to look inside. */
export function isSkippedFolder(name: string): boolean {
  return isNeverPacked(name, true);
}

/**
 * Which files of a folder are uploaded: the same as `treadle deploy` packs. `ignoreFiles` are the texts of its
 * `.gitignore` files and of the `.dockerignore` at its top, by their paths.
 */
export function chooseFiles(
  paths: readonly string[],
  ignoreFiles: ReadonlyMap<string, string>,
): { kept: string[]; left: LeftOut } {
  const docker = parseIgnoreFile(ignoreFiles.get(".dockerignore") ?? "", "docker");
  const git = new Map(
    [...ignoreFiles]
      .filter(([path]) => nameOf(path) === ".gitignore")
      .map(([path, text]) => [folderOf(path), parseIgnoreFile(text, "git")]),
  );
  const decided = new Map<string, boolean>();
  const [installed, secret] = [new Set<string>(), new Set<string>()];
  const kept: string[] = [];
  let ignored = 0;

  /** The innermost file of rules that names the path decides. */
  const isIgnoredByGit = (path: string, isFolder: boolean): boolean => {
    for (let folder: string | null = folderOf(path); folder !== null; folder = parentOf(folder)) {
      const inside = folder === "" ? path : path.slice(folder.length + 1);
      const matched = matchRules(git.get(folder) ?? [], inside, isFolder);
      if (matched !== undefined) return matched === "ignored";
    }
    return false;
  };
  const isEntered = (folder: string): boolean => {
    if (folder === "") return true;
    const known = decided.get(folder);
    if (known !== undefined) return known;
    if (isNeverPacked(nameOf(folder), true)) installed.add(nameOf(folder));
    const isOut =
      !isEntered(folderOf(folder)) ||
      isNeverPacked(nameOf(folder), true) ||
      isIgnoredByGit(folder, true) ||
      // Docker lets a later rule bring back a file below a folder that is left out.
      (matchRules(docker, folder, true) === "ignored" && !docker.some(({ keeps }) => keeps));
    decided.set(folder, !isOut);
    return !isOut;
  };
  for (const path of paths) {
    if (!isEntered(folderOf(path))) ignored += 1;
    else if (isNeverPacked(nameOf(path), false)) secret.add(path);
    else if (isIgnoredByGit(path, false) || matchRules(docker, path, false) === "ignored") ignored += 1;
    else kept.push(path);
  }
  return {
    kept: kept.sort(),
    left: { ignored, installed: [...installed].sort(), secret: [...secret].sort() },
  };
}

export function folderOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Null above the top. */
function parentOf(folder: string): string | null {
  return folder === "" ? null : folderOf(folder);
}
