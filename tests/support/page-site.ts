import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import type { Page } from "playwright-core";
import { build } from "vite";
import { launchBrowser } from "./components/chromium.ts";
import { startHttpListener } from "./components/http-listener.ts";
import { oncePerRun } from "./once-per-run.ts";

const types: Record<string, string> = { ".html": "text/html", ".js": "text/javascript" };

/** A browser, and the page of a folder in tests/browser, built and served from an origin of its own. */
export async function startPageSite(name: string) {
  const [browser, folder] = await Promise.all([launchBrowser(), buildSite(name)]);
  const site = await startHttpListener((origin) => async (request, response) => {
    const { pathname } = new URL(request.url ?? "/", origin);
    const file = pathname === "/" ? "index.html" : normalize(pathname);
    const content = await readFile(join(folder, file)).catch(() => undefined);
    response.writeHead(content ? 200 : 404, { "content-type": types[extname(file)] ?? "text/plain" });
    response.end(content);
  });
  const opened: Page[] = [];
  return {
    origin: site.origin,
    /** Everything about the page is in its address. */
    addressOf: (options: Record<string, string>) => `${site.origin}/?${new URLSearchParams(options)}`,
    async newPage(): Promise<Page> {
      const page = await browser.newPage();
      opened.push(page);
      return page;
    },
    async closeAll() {
      for (const page of opened.splice(0)) await page.context().close();
    },
    async stop() {
      await browser.stop();
      await site.stop();
    },
  };
}

function buildSite(name: string): Promise<string> {
  return oncePerRun(name, (outDir) =>
    build({
      configFile: false,
      root: fileURLToPath(new URL(`../browser/${name}/`, import.meta.url)),
      plugins: [react()],
      logLevel: "error",
      build: { outDir, emptyOutDir: true, minify: false, chunkSizeWarningLimit: 5_000 },
    }),
  );
}
