import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";
import { ensureDebianPackages } from "./install-packages.ts";

const FLAGS = [
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];

export interface TestBrowser {
  /** A page in a context of its own: no cookies or storage are shared between two of them. */
  newPage(options?: BrowserContextOptions): Promise<Page>;
  stop(): Promise<void>;
}

/** One for all test files of this process, which ends with it: their pages share nothing but the program. */
let ofThisProcess: Promise<Browser> | undefined;

/** Debian's Chromium without a window, built for that: it takes a quarter less of the processor. With flags of its own it is another one, that ends with `stop`. */
export async function launchBrowser(more: readonly string[] = []): Promise<TestBrowser> {
  if (more.length === 0) ofThisProcess ??= launchForAll();
  const browser = await (more.length === 0 ? ofThisProcess! : launchChromium(more));
  const contexts: BrowserContext[] = [];
  return {
    async newPage(options) {
      const context = await browser.newContext(options);
      contexts.push(context);
      return await context.newPage();
    },
    async stop() {
      for (const context of contexts.splice(0)) await context.close();
      if (more.length > 0) await browser.close();
    },
  };
}

/** Debian's Chromium, installed when it is not there. Whoever launches it closes it. */
export async function launchChromium(more: readonly string[] = []): Promise<Browser> {
  await ensureDebianPackages(["chromium-headless-shell"]);
  return chromium.launch({
    executablePath: "/usr/bin/chromium-headless-shell",
    headless: true,
    // Chromium's sandbox does not start for root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [...FLAGS, ...more],
    timeout: 60_000,
  });
}

/** One that died is replaced for the next file; the test that used it fails. */
async function launchForAll(): Promise<Browser> {
  const browser = await launchChromium();
  browser.once("disconnected", () => {
    ofThisProcess = undefined;
  });
  return browser;
}
