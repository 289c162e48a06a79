import { mkdtemp, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { create } from "tar";
import { AppError } from "../../platform/errors.ts";
import { formatBytes } from "../terminal/amounts.ts";
import { type IgnoreRule, isNeverPacked, matchRules, parseIgnoreFile } from "./ignore-rules.ts";

const mostBytes = 200 * 1024 * 1024;

export type PackedFolder = {
  file: string;
  bytes: number;
  paths: string[];
  /** Links that lead out of the folder. */
  skippedLinks: string[];
  remove(): Promise<void>;
};

type Scope = { folder: string; rules: IgnoreRule[] };

/**
 * The folder as a .tar.gz without what `.gitignore` and `.dockerignore` leave out. The same files make the same bytes,
 * so that the server need not build them twice.
 */
export async function packFolder(root: string): Promise<PackedFolder> {
  const { paths, skippedLinks } = await listFiles(root);
  const work = await mkdtemp(join(tmpdir(), "treadle-deploy-"));
  const remove = () => rm(work, { recursive: true, force: true });
  try {
    const file = join(work, "source.tar.gz");
    await create(
      { file, cwd: root, gzip: true, portable: true, noDirRecurse: true, mtime: new Date(0) },
      paths,
    );
    const { size } = await stat(file);
    if (size > mostBytes) throw tooLarge(size);
    return { file, bytes: size, paths, skippedLinks, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

export async function listFiles(root: string): Promise<{ paths: string[]; skippedLinks: string[] }> {
  const paths: string[] = [];
  const skippedLinks: string[] = [];
  const docker = await readRules(join(root, ".dockerignore"), "docker");
  await visit(root, []);
  return { paths: paths.toSorted(), skippedLinks };

  async function visit(folder: string, above: Scope[]): Promise<void> {
    const own = { folder, rules: await readRules(join(folder, ".gitignore"), "git") };
    const scopes = [...above, own];
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      const isFolder = entry.isDirectory();
      const name = relative(root, path).split(sep).join("/");
      if (isNeverPacked(entry.name, isFolder) || isIgnored(path, isFolder, scopes)) continue;
      const excluded = matchRules(docker, name, isFolder) === "ignored";
      // Docker lets a later rule bring back a file below a folder that is left out.
      if (isFolder && (!excluded || docker.some(({ keeps }) => keeps))) await visit(path, scopes);
      else if (isFolder || excluded) continue;
      else if (entry.isFile()) paths.push(name);
      else if (entry.isSymbolicLink()) {
        const target = resolve(dirname(path), await readlink(path));
        const inside = !relative(root, target).startsWith("..");
        if (inside) paths.push(name);
        else skippedLinks.push(name);
      }
    }
  }

  function isIgnored(path: string, isFolder: boolean, scopes: Scope[]): boolean {
    for (const { folder, rules } of scopes.toReversed()) {
      const matched = matchRules(rules, relative(folder, path).split(sep).join("/"), isFolder);
      if (matched !== undefined) return matched === "ignored";
    }
    return false;
  }
}

async function readRules(path: string, style: "git" | "docker"): Promise<IgnoreRule[]> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "EISDIR") return "";
    throw error;
  });
  return parseIgnoreFile(text, style);
}

function tooLarge(bytes: number): AppError {
  return new AppError({
    code: "client.source_too_large",
    kind: "too_large",
    message: `The folder packs to ${formatBytes(bytes)}; at most ${formatBytes(mostBytes)} can be uploaded. Leave out what is not needed with .dockerignore, or deploy from git with --git.`,
  });
}
