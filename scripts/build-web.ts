import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";

/** Builds every page under `web/` into its `dist` folder, from where the server serves it. */
const web = new URL("../web/", import.meta.url);
const configs = readdirSync(web)
  .map((page) => fileURLToPath(new URL(`${page}/vite.config.ts`, web)))
  .filter((file) => existsSync(file));

for (const configFile of configs) {
  await build({ configFile, logLevel: process.argv.includes("--quiet") ? "warn" : "info" });
}
