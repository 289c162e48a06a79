import { request } from "node:http";
import { expect } from "vitest";
import type { BrowserClient } from "./browser-client.ts";

export type PageAnswer = { status: number; headers: Headers; text: string };

/** What a browser sends when somebody opens an address. */
export const opens = {
  accept: "text/html,application/xhtml+xml,*/*;q=0.8",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
  "sec-fetch-site": "none",
};

/** Asks a server of this machine by the name of a deployment's host, as a browser does; follows nothing. */
export function createPageVisitor(
  port: number | string,
  originOf = (slug: string) => `http://${slug}.localhost:${port}`,
) {
  function ask(
    slug: string,
    path: string,
    headers: Record<string, string> = {},
    method = "GET",
  ): Promise<PageAnswer> {
    return new Promise((resolve, reject) => {
      const all = { host: new URL(originOf(slug)).host, ...headers };
      const asked = request({ host: "127.0.0.1", port, path, method, headers: all }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.once("error", reject);
        response.once("end", () => {
          const received = new Headers();
          for (let index = 0; index < response.rawHeaders.length; index += 2)
            received.append(response.rawHeaders[index]!, response.rawHeaders[index + 1]!);
          resolve({ status: response.statusCode ?? 0, headers: received, text });
        });
      });
      asked.once("error", reject).end();
    });
  }

  /** Opens a page without a credential: where it leads, and the cookie that remembers the browser. */
  async function begin(slug: string, path = "/", cookie?: string) {
    const answer = await ask(slug, path, { ...opens, ...(cookie === undefined ? {} : { cookie }) });
    expect(answer.status, answer.text).toBe(303);
    const location = new URL(answer.headers.get("location")!);
    return { answer, location, state: location.searchParams.get("state")!, entry: cookieOf(answer) };
  }

  const codeFor = (person: BrowserClient, slug: string, state: string) =>
    person.send("POST", `/v2/deployment-pages/${slug}/codes`, { body: { state } });

  /** The path the browser is sent back to, with a code of this person's. */
  async function wayBack(person: BrowserClient, slug: string, state: string): Promise<string> {
    const { status, body } = await codeFor(person, slug, state);
    expect([status, body]).toEqual([201, expect.any(Object)]);
    const { location } = body as { location: string };
    expect(location.startsWith(`${originOf(slug)}/.treadle/enter?`)).toBe(true);
    return location.slice(originOf(slug).length);
  }

  const finish = (slug: string, way: string, cookie?: string) =>
    ask(slug, way, { ...opens, "sec-fetch-site": "cross-site", ...(cookie === undefined ? {} : { cookie }) });

  return {
    originOf,
    ask,
    begin,
    codeFor,
    wayBack,
    finish,
    /** The whole way in: the cookie of the page. */
    async enter(person: BrowserClient, slug: string): Promise<string> {
      const { state, entry } = await begin(slug);
      const answer = await finish(slug, await wayBack(person, slug, state), entry);
      expect(answer.status, answer.text).toBe(303);
      return cookieOf(answer);
    },
  };
}

/** `name=value` of the one cookie an answer sets. */
export function cookieOf({ headers }: PageAnswer): string {
  const [cookie, ...more] = headers.getSetCookie();
  expect(more).toEqual([]);
  return cookie!.split(";", 1)[0]!;
}
