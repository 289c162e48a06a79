import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const migrationsFolder = fileURLToPath(new URL("../../migrations", import.meta.url));

/** Projects that `treadle new` copies. */
export const templatesFolder = fileURLToPath(new URL("../../templates", import.meta.url));

/** The program itself, for people who have no `treadle` in their PATH. */
export const programFile = fileURLToPath(new URL("../../bin/treadle.js", import.meta.url));

/** What a Python process starts with. */
export const pythonMain = fileURLToPath(new URL("../../python/treadle_python/__main__.py", import.meta.url));

export function version(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
