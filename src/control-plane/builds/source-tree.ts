import { lstat, readdir, readlink, realpath } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { AppError } from "../../platform/errors.ts";

export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === "" || (!way.startsWith("..") && !way.startsWith(sep));
}

/** Refuses links that lead out of the tree: they would show a graph, or a visitor, this machine's files. */
export async function refuseForeignLinks(root: string): Promise<void> {
  const foreign: string[] = [];
  const visit = async (folder: string): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isSymbolicLink()) {
        const target = resolve(dirname(path), await readlink(path));
        const real = await realpath(path).catch(() => target);
        if (!isInside(root, target) || !isInside(await realpath(root), real))
          foreign.push(relative(root, path));
      } else if (entry.isDirectory() && entry.name !== ".git") await visit(path);
    }
  };
  await visit(root);
  if (foreign.length === 0) return;
  throw new AppError({
    code: "build.foreign_link",
    kind: "invalid",
    message: `The source holds symbolic links that lead out of it: ${foreign.slice(0, 10).join(", ")}. Replace them with files of the repository.`,
  });
}

/** Where Python keeps its compiled code, beside the source. */
const compiledFolder = /\/__pycache__$/;

/**
 * Bytes below a folder; stops counting beyond `limit`. What was compiled from a source is not counted a second time: only
 * what is more than everything else.
 */
export async function sizeOf(folder: string, limit: number): Promise<number> {
  let plain = 0;
  let compiled = 0;
  const total = () => plain + Math.max(0, compiled - plain);
  const pending = [folder];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const isCompiled = compiledFolder.test(next);
    for (const entry of await readdir(next, { withFileTypes: true })) {
      const path = join(next, entry.name);
      if (entry.isDirectory()) pending.push(path);
      else if (isCompiled) compiled += (await lstat(path)).size;
      else plain += (await lstat(path)).size;
      if (plain > limit) return plain;
    }
  }
  return total();
}

/** The names below a folder, and what links lead to, with a line break in them, from the folder. */
export async function listBrokenNames(root: string): Promise<string[]> {
  const broken: string[] = [];
  const pending = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const entry of await readdir(next, { withFileTypes: true })) {
      const path = join(next, entry.name);
      const target = entry.isSymbolicLink() ? await readlink(path) : "";
      if (entry.name.includes("\n") || target.includes("\n")) broken.push(relative(root, path));
      else if (entry.isDirectory()) pending.push(path);
    }
  }
  return broken;
}
