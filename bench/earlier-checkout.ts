import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type EarlierCheckout = { folder: string; remove(): Promise<void> };

/** The files of a commit, with their packages; undefined where the history does not have it. */
export async function openCheckout(root: string, commit: string): Promise<EarlierCheckout | undefined> {
  if (!hasCommit(root, commit)) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "treadle-earlier-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const archive = execFileSync("git", ["archive", commit], { cwd: root, maxBuffer: 512 * 1024 * 1024 });
    execFileSync("tar", ["-x", "-C", folder], { input: archive });
    await install(root, folder);
    return { folder, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

function hasCommit(root: string, commit: string): boolean {
  try {
    execFileSync("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: root, stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** The same packages need not be installed twice. */
async function install(root: string, folder: string): Promise<void> {
  const lockOf = (checkout: string) => readFile(join(checkout, "package-lock.json"), "utf8");
  if ((await lockOf(root)) === (await lockOf(folder)))
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  else execFileSync("npm", ["ci"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
}
