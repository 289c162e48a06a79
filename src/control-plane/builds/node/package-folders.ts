import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { foldersUp, type PackageFolder } from "./package-manager.ts";

/** What the folders from the config file up to the root hold that decides about installing. */
export async function readPackageFolders(tree: string, configFolder: string): Promise<PackageFolder[]> {
  return Promise.all(
    foldersUp(configFolder).map(async (folder) => {
      const files = new Set(await readdir(join(tree, folder)));
      const read = (name: string) =>
        files.has(name) ? readFile(join(tree, folder, name), "utf8") : undefined;
      const lock = await read("yarn.lock");
      return {
        folder,
        files,
        packageManager: packageManagerIn(await read("package.json")),
        modernYarn: lock === undefined ? undefined : /^__metadata:/m.test(lock),
      };
    }),
  );
}

/** A package.json that is none is the package manager's to complain about. */
function packageManagerIn(text: string | undefined): string | undefined {
  try {
    const { packageManager } = JSON.parse(text ?? "{}") as { packageManager?: unknown };
    return typeof packageManager === "string" ? packageManager : undefined;
  } catch {
    return undefined;
  }
}
