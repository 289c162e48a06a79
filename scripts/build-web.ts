import { fileURLToPath } from "node:url";
import { build } from "vite";

/** Builds the web pages into their `dist` folders, from where the server serves them. */
const pages = ["chat"];

for (const page of pages) {
  const configFile = fileURLToPath(new URL(`../web/${page}/vite.config.ts`, import.meta.url));
  await build({ configFile, logLevel: process.argv.includes("--quiet") ? "warn" : "info" });
}
