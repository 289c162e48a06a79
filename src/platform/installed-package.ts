import { readFileSync, realpathSync } from "node:fs";
import { createRequire, findPackageJSON } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** A package as Node would find it from some file, in the copy that file gets. */
export type InstalledPackage = {
  name: string;
  version: string;
  directory: string;
  manifest: { exports?: unknown; main?: string };
};

export function findInstalledPackage(name: string, fromFile: string): InstalledPackage | undefined {
  const manifestPath = locateManifest(name, fromFile);
  if (manifestPath === undefined) return undefined;
  const real = realpathSync(manifestPath);
  const manifest = JSON.parse(readFileSync(real, "utf8")) as InstalledPackage["manifest"] & {
    version?: string;
  };
  return { name, version: manifest.version ?? "0.0.0", directory: dirname(real), manifest };
}

function locateManifest(name: string, fromFile: string): string | undefined {
  try {
    return findPackageJSON(name, pathToFileURL(fromFile));
  } catch (error) {
    if (["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"].includes((error as NodeJS.ErrnoException).code ?? ""))
      return undefined;
    throw error;
  }
}

/** The URL `import "<name><subpath>"` would load, or undefined when the package exports no such path. */
export function importUrl(found: InstalledPackage, subpath = "."): string | undefined {
  const target = selectExport(found.manifest.exports, subpath) ?? fallbackEntry(found, subpath);
  return target === undefined ? undefined : pathToFileURL(join(found.directory, target)).href;
}

/** `require` as a file inside the package would have it. */
export function requireFrom(found: InstalledPackage): NodeJS.Require {
  return createRequire(join(found.directory, "package.json"));
}

function fallbackEntry(found: InstalledPackage, subpath: string): string | undefined {
  return found.manifest.exports === undefined && subpath === "."
    ? (found.manifest.main ?? "index.js")
    : undefined;
}

const importConditions = new Set(["node", "import", "module-sync", "default"]);

function selectExport(exports: unknown, subpath: string): string | undefined {
  if (exports === undefined || exports === null) return undefined;
  const isTable = typeof exports === "object" && Object.keys(exports).some((key) => key.startsWith("."));
  if (!isTable) return subpath === "." ? selectCondition(exports) : undefined;
  return selectCondition((exports as Record<string, unknown>)[subpath]);
}

/** The first condition that matches wins, in the order the package wrote them. */
function selectCondition(target: unknown): string | undefined {
  if (typeof target === "string") return target;
  if (target === null || typeof target !== "object") return undefined;
  for (const [condition, next] of Object.entries(target)) {
    if (!importConditions.has(condition)) continue;
    const selected = selectCondition(next);
    if (selected !== undefined) return selected;
  }
  return undefined;
}
