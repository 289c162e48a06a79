import type { BrowserContextOptions, Page } from "playwright-core";
import type { Config } from "../../src/config/index.ts";
import { createTestApp, type TestApp } from "./app.ts";
import { findViolations } from "./axe.ts";
import { buildPage } from "./built-page.ts";
import { launchBrowser } from "./components/chromium.ts";

export const phone = { width: 390, height: 844 };

export type OpenOptions = BrowserContextOptions & {
  /** Signed in with it; null opens the page as a stranger. Default: the administrator's. */
  apiKey?: string | null;
};

/** A browser, the console built from its source as it is now, and the whole application that serves it. */
export async function startConsole(overrides: Partial<Config> = {}, browserFlags: readonly string[] = []) {
  const [browser, consoleFolder] = await Promise.all([launchBrowser(browserFlags), buildPage("console")]);
  const app: TestApp = await createTestApp(overrides, { consoleFolder });
  const url = await app.listen();
  const opened: Page[] = [];
  return {
    app,
    url,
    async open(path: string, { apiKey = app.apiKey, ...options }: OpenOptions = {}): Promise<ConsolePage> {
      const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, ...options });
      opened.push(page);
      const found = new ConsolePage(page, url);
      if (apiKey !== null) await signInBrowser(page, url, apiKey);
      await page.goto(`${url}${path}`);
      return found;
    },
    /** With their tabs, cookies and storage. */
    async closeAll() {
      for (const page of opened.splice(0)) await page.context().close();
    },
    async stop() {
      await browser.stop();
      await app.stop();
    },
  };
}

/** As the sign-in page does it: the browser gets the cookie, and keeps nothing else. */
export async function signInBrowser(page: Page, url: string, apiKey: string): Promise<void> {
  const answer = await page.context().request.post(`${url}/v2/auth/sign-in/key`, {
    data: { api_key: apiKey },
    headers: { origin: url, "x-treadle-console": "1" },
  });
  if (answer.status() !== 201) throw new Error(`signing in answered ${answer.status()}`);
}

export type RunningConsole = Awaited<ReturnType<typeof startConsole>>;

/** What a person does and sees. */
export class ConsolePage {
  readonly page: Page;
  readonly url: string;
  /** What went wrong in the page itself; a test looks at it when it is done. */
  readonly errors: string[] = [];

  constructor(page: Page, url: string) {
    this.page = page;
    this.url = url;
    page.on("pageerror", (error) => this.errors.push(error.message));
    page.setDefaultTimeout(30_000);
  }

  heading(name: string | RegExp) {
    return this.page.getByRole("heading", { name, level: 1 });
  }

  button(name: string | RegExp) {
    return this.page.getByRole("button", { name });
  }

  link(name: string | RegExp) {
    return this.page.getByRole("link", { name });
  }

  field(label: string | RegExp) {
    return this.page.getByLabel(label);
  }

  text(text: string | RegExp) {
    return this.page.getByText(text).first();
  }

  /** Where the address bar is. */
  get path(): string {
    const { pathname, search, hash } = new URL(this.page.url());
    return pathname + search + hash;
  }

  async visit(path: string): Promise<void> {
    await this.page.goto(`${this.url}${path}`);
  }

  /** Until nothing is being loaded any more. */
  async settled(): Promise<void> {
    await this.page.locator(".skeleton").first().waitFor({ state: "detached" });
  }

  /** Problems a person with a disability would hit, as axe rates them, but for minor ones. */
  async violations(): Promise<string[]> {
    return (await findViolations(this.page))
      .filter(({ impact }) => impact !== "minor")
      .map(({ id, impact, html }) => `${id} (${impact}): ${html.slice(0, 240)}`);
  }

  /** Parts that stick out of the window sideways, except inside what scrolls by itself. */
  async overflowing(): Promise<string[]> {
    return this.page.evaluate(`(() => {
      const scrolls = (element) => element.closest(".tabs, .table-box, pre, .log-lines, .json") !== null;
      return [...document.querySelectorAll("main *")]
        .filter((element) => !scrolls(element) && element.getBoundingClientRect().right > innerWidth + 1)
        .map((element) => element.outerHTML.slice(0, 120));
    })()`);
  }
}
