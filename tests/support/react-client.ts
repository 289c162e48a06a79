import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import react from "@vitejs/plugin-react";
import type { Page } from "playwright-core";
import { build } from "vite";
import type { Shown } from "../browser/react-client/shown.ts";
import { launchBrowser } from "./components/chromium.ts";
import { startHttpListener } from "./components/http-listener.ts";
import { createTempFolder } from "./components/temp-folder.ts";
import { waitUntil } from "./components/wait-until.ts";

const types: Record<string, string> = { ".html": "text/html", ".js": "text/javascript" };

/** A browser, and a page with nothing but `useStream` on it, served from an origin of its own. */
export async function openReactClients() {
  const folder = await createTempFolder("react-client");
  const [browser, site] = await Promise.all([
    launchBrowser(),
    startHttpListener((origin) => async (request, response) => {
      const { pathname } = new URL(request.url ?? "/", origin);
      const name = pathname === "/" ? "index.html" : normalize(pathname);
      const content = await readFile(join(folder.path, name)).catch(() => undefined);
      response.writeHead(content ? 200 : 404, { "content-type": types[extname(name)] ?? "text/plain" });
      response.end(content);
    }),
    build({
      configFile: false,
      root: fileURLToPath(new URL("../browser/react-client/", import.meta.url)),
      plugins: [react()],
      logLevel: "error",
      build: { outDir: folder.path, emptyOutDir: true, minify: false, chunkSizeWarningLimit: 5_000 },
    }),
  ]);
  const opened: Page[] = [];
  return {
    async open(options: { api: string; assistant: string; thread?: string; transport?: string }) {
      const page = await browser.newPage();
      opened.push(page);
      return new ReactClient(page).goto(`${site.origin}/?${new URLSearchParams(options)}`);
    },
    async closeAll() {
      for (const page of opened.splice(0)) await page.context().close();
    },
    async stop() {
      await browser.stop();
      await site.stop();
      await folder.remove();
    },
  };
}

/** What a person does with the page, and what it shows. */
export class ReactClient {
  readonly page: Page;
  /** Exceptions in the page, and requests that were refused or failed. */
  readonly troubles: string[] = [];

  constructor(page: Page) {
    this.page = page;
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => this.troubles.push(error.message));
    page.on("requestfailed", (request) => {
      const reason = request.failure()?.errorText ?? "";
      // What was still open when the page was left, or was closed by the client itself.
      if (reason !== "net::ERR_ABORTED") this.troubles.push(`${reason} ${request.url()}`);
    });
    page.on("response", (response) => {
      if (response.status() >= 400) this.troubles.push(`${response.status()} ${response.url()}`);
    });
  }

  async goto(url: string): Promise<this> {
    await this.page.goto(url);
    return this.hydrated();
  }

  async reload(): Promise<this> {
    await this.page.reload();
    return this.hydrated();
  }

  async hydrated(): Promise<this> {
    await this.until("the thread to be loaded", ({ isThreadLoading }) => !isThreadLoading);
    return this;
  }

  async shown(): Promise<Shown> {
    return JSON.parse((await this.page.locator("output").textContent()) ?? "") as Shown;
  }

  /** What the page shows once it is as awaited. */
  async until(what: string, isSo: (shown: Shown) => boolean): Promise<Shown> {
    let last: Shown | undefined;
    return waitUntil(
      async () => {
        last = await this.shown();
        return isSo(last) && last;
      },
      {
        what,
        timeoutMs: 20_000,
        intervalMs: 20,
        evidence: () => JSON.stringify({ last, troubles: this.troubles }),
      },
    );
  }

  /** Nothing runs, and these are the messages. */
  settled(messages: string[]): Promise<Shown> {
    return this.idleWith({ messages });
  }

  /** Nothing runs, and the page shows this. */
  async idleWith(expected: Partial<Shown>): Promise<Shown> {
    return this.until(`no run and ${JSON.stringify(expected)}`, (shown) => {
      const wanted = { ...shown, ...expected, isLoading: false };
      return isDeepStrictEqual(shown, wanted);
    });
  }

  async submit(input: unknown, options: object = {}): Promise<void> {
    await this.#fill(input, options);
    await this.press("Submit");
  }

  say(text: string, options?: object): Promise<void> {
    return this.submit(saying(text), options);
  }

  async respond(answer: unknown, options: object = {}): Promise<void> {
    await this.#fill(answer, options);
    await this.press("Respond");
  }

  /** The same answer to everything that is asked. */
  async respondToAll(answer: unknown): Promise<void> {
    await this.#fill(answer, {});
    await this.press("Respond to all");
  }

  /** Has the last message made again. */
  async again(): Promise<void> {
    await this.page.getByRole("button", { name: "Again" }).last().click();
  }

  async chooseAssistant(assistantId: string): Promise<void> {
    await this.page.getByLabel("Assistant").fill(assistantId);
    await this.hydrated();
  }

  press(name: string): Promise<void> {
    return this.page.getByRole("button", { name, exact: true }).click();
  }

  async #fill(input: unknown, options: object): Promise<void> {
    await this.page.getByLabel("Input").fill(JSON.stringify(input));
    await this.page.getByLabel("Options").fill(JSON.stringify(options));
  }
}

function saying(text: string) {
  return { messages: [{ type: "human", content: text }] };
}
