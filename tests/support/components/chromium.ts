import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { ensureDebianPackages } from "./install-packages.ts";

const FLAGS = [
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

export interface TestBrowser {
  browser: Browser;
  /** A page in a context of its own: no cookies or storage are shared between two of them. */
  newPage(options?: BrowserContextOptions): Promise<Page>;
  stop(): Promise<void>;
}

/** Debian's Chromium, without a window, on a new profile that is removed with it. */
export async function launchBrowser(more: readonly string[] = []): Promise<TestBrowser> {
  await ensureDebianPackages(["chromium"]);
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    headless: true,
    // Chromium's sandbox does not start for root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [...FLAGS, ...more],
    timeout: 60_000,
  });
  return {
    browser,
    async newPage(options) {
      const context = await browser.newContext(options);
      return await context.newPage();
    },
    stop: () => browser.close(),
  };
}
