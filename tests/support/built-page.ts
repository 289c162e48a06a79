import { fileURLToPath } from "node:url";
import { build } from "vite";
import { oncePerRun } from "./once-per-run.ts";

/** One of the pages in `web/`, built from its source as it is now: the folder. */
export function buildPage(name: "chat" | "console"): Promise<string> {
  return oncePerRun(`${name}-page`, (outDir) =>
    build({
      configFile: fileURLToPath(new URL(`../../web/${name}/vite.config.ts`, import.meta.url)),
      logLevel: "error",
      build: { outDir, emptyOutDir: true },
    }),
  );
}
