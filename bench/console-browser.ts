import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext } from "playwright-core";
import { build } from "vite";
import { createApp } from "../src/app/platform.ts";
import { readConfig } from "../src/config/index.ts";
import { createLogger } from "../src/platform/logger.ts";
import { launchChromium } from "../tests/support/components/chromium.ts";

export const apiKey = "bench-key-of-sixteen-or-more";

export type ConsoleSubject = {
  url: string;
  browser: Browser;
  /** A browser of its own with nothing kept, signed in. */
  signedIn(): Promise<BrowserContext>;
  stop(): Promise<void>;
};

/** The console built from its source, the platform that serves it, and a browser. */
export async function startConsoleSubject(): Promise<ConsoleSubject> {
  const dataDir = await mkdtemp(join(tmpdir(), "treadle-bench-console-"));
  const consoleFolder = join(dataDir, "page");
  await build({
    configFile: fileURLToPath(new URL("../web/console/vite.config.ts", import.meta.url)),
    logLevel: "error",
    build: { outDir: consoleFolder },
  });
  const config = {
    ...readConfig(process.env.DATABASE_URL ? { DATABASE_URL: process.env.DATABASE_URL } : {}),
    ...{ host: "127.0.0.1", port: 0, dataDir, apiKey, secretKey: apiKey, logLevel: "error" as const },
  };
  const app = await createApp(config, { logger: createLogger({ level: "error" }), consoleFolder });
  const { url } = await app.start();
  const browser = await launchChromium();
  return {
    url,
    browser,
    async signedIn() {
      const context = await browser.newContext({ viewport: { width: 1280, height: 860 } });
      const answer = await context.request.post(`${url}/v2/auth/sign-in/key`, {
        data: { api_key: apiKey },
        headers: { origin: url, "x-treadle-console": "1" },
      });
      if (answer.status() !== 201) throw new Error(`Signing in answered ${answer.status()}.`);
      return context;
    },
    async stop() {
      await browser.close();
      await app.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
