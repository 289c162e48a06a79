import { readFile } from "node:fs/promises";
import { brotliCompressSync, constants } from "node:zlib";
import type { BrowserContextOptions, Page } from "playwright-core";
import { findViolations } from "./axe.ts";
import { buildPage } from "./built-page.ts";
import { launchBrowser } from "./components/chromium.ts";
import { signInBrowser } from "./console-page.ts";

/** A browser, and the chat page built from its source as it is now. */
export async function openChatPages() {
  const [browser, pageFolder] = await Promise.all([launchBrowser(), buildPage("chat")]);
  const opened: Page[] = [];
  const newPage = async (options: BrowserContextOptions) => {
    const page = await browser.newPage({ viewport: { width: 1200, height: 800 }, ...options });
    opened.push(page);
    return page;
  };
  /** A whole server serves the page as it was last built: with this one in its place. */
  const serveFrom = async (page: Page, url: string) => {
    for (const address of [`${url}/chat`, `${url}/chat/example`]) {
      await page
        .context()
        .route(address, async (route) =>
          route.fulfill({ response: await route.fetch(), path: `${pageFolder}/index.html` }),
        );
    }
    await page.context().route(`${url}/chat/assets/*`, (route) => {
      const file = new URL(route.request().url()).pathname.split("/").at(-1);
      return route.fulfill({ path: `${pageFolder}/assets/${file}` });
    });
  };
  return {
    pageFolder,
    /** The example, on a server of its own. */
    async open(url: string, options: BrowserContextOptions = {}) {
      return new ChatPage(await newPage(options)).goto(`${url}/chat/example`);
    },
    /** On a whole server, which serves the page as it was last built: with this one in its place. */
    async openOn(url: string, options: BrowserContextOptions & { apiKey?: string; path?: string } = {}) {
      const { apiKey, path = "/chat", ...context } = options;
      const page = await newPage(context);
      await serveFrom(page, url);
      if (apiKey !== undefined) await signInBrowser(page, url, apiKey);
      return new ChatPage(page).goto(`${url}${path}`);
    },
    /** As a stranger who was given a link, in a browser of their own. */
    async readShared(url: string, link: string) {
      const page = await newPage({});
      await serveFrom(page, url);
      await page.goto(link);
      return new ChatPage(page);
    },
    /** What the scripts take on the wire, compressed as the server does it for every browser. */
    async compressedBytes(scripts: readonly string[]): Promise<number> {
      const files = scripts.map((script) => new URL(script).pathname.split("/").at(-1)!);
      const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
      const sizes = files.map(
        async (file) => brotliCompressSync(await readFile(`${pageFolder}/assets/${file}`), quality).length,
      );
      return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    },
    /** With their tabs, cookies and storage. */
    async closeAll() {
      for (const page of opened.splice(0)) await page.context().close();
    },
    stop: () => browser.stop(),
  };
}

/** What a person does and sees. */
export class ChatPage {
  readonly page: Page;
  /** What went wrong in the page itself; a test looks at it when it is done. */
  readonly errors: string[] = [];

  constructor(page: Page) {
    this.page = page;
    page.on("pageerror", (error) => this.errors.push(error.message));
    page.setDefaultTimeout(30_000);
  }

  async goto(address: string): Promise<this> {
    await this.page.goto(address);
    await this.page.locator("textarea, .key-form a").first().waitFor();
    return this;
  }

  /** A second tab of the same browser. */
  async secondTab(): Promise<ChatPage> {
    const tab = new ChatPage(await this.page.context().newPage());
    await tab.page.goto(this.page.url());
    await tab.field.waitFor();
    return tab;
  }

  /** As if another tab were in front of this one. */
  async hide(): Promise<void> {
    await this.page.evaluate(
      'Object.defineProperty(document, "hidden", { value: true }); document.dispatchEvent(new Event("visibilitychange"))',
    );
  }

  get field() {
    return this.page.getByRole("textbox", { name: "Message" });
  }

  get answers() {
    return this.page.locator(".from-assistant");
  }

  get threads() {
    return this.page.locator(".thread-open");
  }

  button(name: string | RegExp) {
    return this.page.getByRole("button", { name });
  }

  /** Itself, and not a conversation that was "stopped". */
  get stop() {
    return this.page.getByRole("button", { name: "Stop", exact: true });
  }

  async say(text: string): Promise<void> {
    await this.field.fill(text);
    await this.field.press("Enter");
  }

  /** Until the answer to the last message is complete. */
  async answered(text: string | RegExp): Promise<void> {
    await this.answers.last().getByText(text).last().waitFor();
    await this.idle();
  }

  async idle(): Promise<void> {
    await this.stop.waitFor({ state: "detached" });
  }

  /** Problems a person with a disability would hit, as axe rates them. */
  async seriousViolations(): Promise<string[]> {
    return (await findViolations(this.page))
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, html }) => `${id}: ${html.slice(0, 200)}`);
  }
}
