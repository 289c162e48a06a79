import type { BrowserContextOptions, Page } from "playwright-core";
import type { Config } from "../../src/config/index.ts";
import { createTestApp, type TestApp } from "./app.ts";
import { findViolations } from "./axe.ts";
import { buildPage } from "./built-page.ts";
import { launchBrowser } from "./components/chromium.ts";

export const phone = { width: 390, height: 844 };
/** A screen of 1280 × 800 at 200 %. */
export const zoomed = { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 };

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

  /** Goes through the page with the Tab key, from its beginning: what has the focus, and whether it can be seen. */
  async tabThrough(): Promise<{ name: string; seen: boolean }[]> {
    // To blur what has the focus would begin there.
    await this.page.evaluate(
      "document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')",
    );
    const found: { name: string; seen: boolean }[] = [];
    for (;;) {
      await this.page.keyboard.press("Tab");
      const focused = await this.page.evaluate<{ name: string; seen: boolean } | null>(`(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return null;
        const box = element.getBoundingClientRect();
        // What scrolls by itself may be larger than the window.
        const within = (from, to, end) => Math.max(0, Math.min(end - 1, (Math.max(from, 0) + Math.min(to, end)) / 2));
        const top = document.elementFromPoint(within(box.left, box.right, innerWidth), within(box.top, box.bottom, innerHeight));
        const name = element.getAttribute("aria-label") ?? element.innerText ?? "";
        return {
          name: name.replace(/\\s+/g, " ") || element.getAttribute("name") || element.tagName,
          seen: box.bottom > 0 && box.top < innerHeight && top !== null && element.contains(top),
        };
      })()`);
      if (!focused) return found;
      found.push(focused);
    }
  }

  /** Parts that stick out of the window sideways, except inside what scrolls by itself. */
  async overflowing(): Promise<string[]> {
    return this.page.evaluate(`(() => {
      const scrolls = (element) => element.closest(".tabs, .table-box, pre, .log-lines, .json, .graph-frame") !== null;
      return [...document.querySelectorAll("main *")]
        .filter((element) => !scrolls(element) && element.getBoundingClientRect().right > innerWidth + 1)
        .map((element) => element.outerHTML.slice(0, 120));
    })()`);
  }
}
