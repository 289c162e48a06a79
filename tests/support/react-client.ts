import { isDeepStrictEqual } from "node:util";
import type { Page } from "playwright-core";
import type { Shown } from "../browser/react-client/shown.ts";
import { waitUntil } from "./components/wait-until.ts";
import { startPageSite } from "./page-site.ts";

/** A browser, and a page with nothing but `useStream` on it, served from an origin of its own. */
export async function openReactClients() {
  const site = await startPageSite("react-client");
  return {
    open: async (options: { api: string; assistant: string; thread?: string; transport?: string }) =>
      new ReactClient(await site.newPage()).goto(site.addressOf(options)),
    closeAll: site.closeAll,
    stop: site.stop,
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
