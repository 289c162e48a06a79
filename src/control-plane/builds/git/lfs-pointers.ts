import { open, readFile } from "node:fs/promises";
import { join } from "node:path";

const firstLine = "version https://git-lfs.github.com/spec/v1";
/** Pointers are three lines; anything of another size is the file itself. */
const isPointerSize = (bytes: number) => bytes >= 100 && bytes <= 1_024;

export type ListedFile = { path: string; bytes: number };

/** Files whose content is kept by Git LFS and not in the repository: only their pointers were fetched. */
export async function findLfsPointers(root: string, files: readonly ListedFile[]): Promise<string[]> {
  if (!(await asksForLfs(root, files))) return [];
  const found: string[] = [];
  for (const { path, bytes } of files) {
    if (isPointerSize(bytes) && (await startsAsPointer(join(root, path)))) found.push(path);
  }
  return found;
}

async function asksForLfs(root: string, files: readonly ListedFile[]): Promise<boolean> {
  for (const { path, bytes } of files) {
    if (!/(?:^|\/)\.gitattributes$/.test(path) || bytes > 1_000_000) continue;
    const text = await readFile(join(root, path), "utf8").catch(() => "");
    if (/\bfilter=lfs\b/.test(text)) return true;
  }
  return false;
}

async function startsAsPointer(path: string): Promise<boolean> {
  const file = await open(path, "r").catch(() => null);
  if (!file) return false;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(firstLine.length), 0, firstLine.length, 0);
    return buffer.subarray(0, bytesRead).toString("latin1") === firstLine;
  } finally {
    await file.close();
  }
}
