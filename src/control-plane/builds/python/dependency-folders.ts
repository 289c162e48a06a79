import { readdir, readFile } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import { errorMessage } from "../../../platform/errors.ts";
import { buildRefused } from "../project-files.ts";
import { isInside } from "../source-tree.ts";
import type { DependencyFolder } from "./plan-python-install.ts";
import { readPoetryLock } from "./poetry-lock.ts";
import { type Pyproject, readPyproject } from "./pyproject.ts";

export type Dependencies = { folders: DependencyFolder[]; packages: string[] };

/** What lies in the folders a project depends on, and what else it names. */
export async function readDependencies(
  tree: string,
  configFolder: string,
  dependencies: readonly string[],
): Promise<Dependencies> {
  const root = join(tree, configFolder);
  const isFolder = (entry: string) => entry.startsWith(".");
  const entries = dependencies.length === 0 ? ["."] : [...new Set(dependencies)];
  const folders: DependencyFolder[] = [];
  for (const entry of entries.filter(isFolder)) folders.push(await readFolder(tree, root, entry));
  return { folders, packages: entries.filter((entry) => !isFolder(entry)) };
}

async function readFolder(tree: string, root: string, entry: string): Promise<DependencyFolder> {
  const path = join(root, entry);
  if (!isInside(tree, path))
    throw buildRefused(`The dependency ${entry} is outside the source. Move it into the repository.`);
  const files = await namesIn(path);
  if (files === null)
    throw buildRefused(`The dependency ${entry} is not a folder of the source. Correct dependencies.`);
  const pyproject = files.has("pyproject.toml") ? await pyprojectIn(path, entry) : null;
  return {
    entry,
    folder: posix.normalize(entry).replace(/\/$/, ""),
    files,
    pyproject,
    poetryLock: files.has("poetry.lock") ? await poetryLockIn(path, entry) : null,
    hasUvLock: files.has("uv.lock") || (pyproject !== null && (await isMember(tree, path))),
  };
}

async function namesIn(path: string): Promise<Set<string> | null> {
  try {
    return new Set(await readdir(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}

async function pyprojectIn(path: string, entry: string): Promise<Pyproject> {
  const text = await readFile(join(path, "pyproject.toml"), "utf8");
  try {
    return readPyproject(text);
  } catch (error) {
    throw buildRefused(`pyproject.toml of ${entry} cannot be read: ${errorMessage(error)}`);
  }
}

async function poetryLockIn(path: string, entry: string) {
  const text = await readFile(join(path, "poetry.lock"), "utf8");
  try {
    return readPoetryLock(text);
  } catch (error) {
    throw buildRefused(`poetry.lock of ${entry} cannot be read: ${errorMessage(error)}`);
  }
}

/** Whether a folder above it leads a workspace with a lock file. */
async function isMember(tree: string, path: string): Promise<boolean> {
  for (let above = dirname(path); isInside(tree, above); above = dirname(above)) {
    const files = (await namesIn(above)) ?? new Set();
    if (!files.has("pyproject.toml")) continue;
    const { leadsWorkspace } = await pyprojectIn(above, above.slice(tree.length + 1) || ".");
    if (leadsWorkspace) return files.has("uv.lock");
  }
  return false;
}
