import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { oncePerRun } from "./once-per-run.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * One of the pages in `web/`, built from its source as it is now: the folder. In a process of its own: within a test,
 * React would be the one for developers, which is larger and slower.
 */
export function buildPage(name: "chat" | "console"): Promise<string> {
  return oncePerRun(`${name}-page`, async (outDir) => {
    const options = ["--outDir", outDir, "--emptyOutDir", "--logLevel", "error"];
    const { NODE_ENV: _, ...env } = process.env;
    const vite = `${root}/node_modules/vite/bin/vite.js`;
    await run(process.execPath, [vite, "build", `${root}/web/${name}`, ...options], { env });
  });
}
