import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * The file to begin with. A start reads two thousand modules one by one, so `scripts/build-start.ts` joins them into
 * few files. They are used only if every source is as it was then: an edit takes effect without a further step.
 */
export function findEntry(root) {
  const start = join(root, "dist", "start");
  const sources = join(root, "src", "main.ts");
  // Node strips types in a checkout but refuses to inside node_modules, so the package carries dist.
  const separate = [sources, join(root, "dist", "main.js")].find(existsSync);
  if (!existsSync(join(start, "main.js"))) return separate;
  return separate !== sources || isFresh(root, start) ? join(start, "main.js") : separate;
}

function isFresh(root, start) {
  try {
    const inputs = JSON.parse(readFileSync(join(start, "inputs.json"), "utf8"));
    return Object.entries(inputs).every(([path, [size, changed]]) => {
      const found = statSync(join(root, path), { throwIfNoEntry: false });
      return found?.size === size && found.mtimeMs === changed;
    });
  } catch {
    // Missing, or half written: the sources are always right.
    return false;
  }
}
