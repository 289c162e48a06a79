/** Requests as a browser on this server's pages would send them: its headers, and the cookies it was given. */
export type BrowserClient = {
  readonly cookies: Map<string, string>;
  /** Set-Cookie lines of the last answer. */
  readonly received: string[];
  send(method: string, path: string, options?: BrowserRequest): Promise<BrowserAnswer>;
};

export type BrowserRequest = {
  body?: unknown;
  /** Instead of JSON. */
  text?: string;
  /** Replace what the browser would send; null leaves a header out. */
  headers?: Record<string, string | null>;
};

export type BrowserAnswer = { status: number; body: unknown; headers: Headers };

export function createBrowserClient(
  fetch: (request: Request) => Promise<Response>,
  origin = "http://127.0.0.1",
): BrowserClient {
  const cookies = new Map<string, string>();
  const received: string[] = [];
  return {
    cookies,
    received,
    async send(method, path, { body, text, headers: given = {} } = {}) {
      const headers = new Headers({
        "sec-fetch-site": "same-origin",
        "user-agent": "Test browser",
        "x-treadle-console": "1",
        ...(method === "GET" ? {} : { origin }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      });
      if (cookies.size > 0) headers.set("cookie", [...cookies].map((pair) => pair.join("=")).join("; "));
      for (const [name, value] of Object.entries(given)) {
        if (value === null) headers.delete(name);
        else headers.set(name, value);
      }
      const content = text ?? (body === undefined ? undefined : JSON.stringify(body));
      const response = await fetch(
        new Request(`${origin}${path}`, {
          method,
          headers,
          redirect: "manual",
          ...(content === undefined ? {} : { body: content }),
        }),
      );
      received.length = 0;
      for (const line of response.headers.getSetCookie()) {
        received.push(line);
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
        if (value === "") cookies.delete(name!);
        else cookies.set(name!, value!);
      }
      const answer = await response.text();
      const json = response.headers.get("content-type")?.startsWith("application/json");
      return {
        status: response.status,
        body: answer === "" ? undefined : json ? JSON.parse(answer) : answer,
        headers: response.headers,
      };
    },
  };
}
