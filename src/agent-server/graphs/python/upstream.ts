import type { CallStream, Incoming } from "./call-stream.ts";
import { receivedBody, sendBody } from "./http-body.ts";

type Fetch = (request: Request) => Response | Promise<Response>;

export type UpstreamOptions = {
  /** For the project's own code, which needs no credential. */
  callServer: Fetch;
  /** For a request of a client that the project's application has no route for: the server's own routes alone. */
  passOn: Fetch;
};

type UpstreamMeta = {
  for?: number;
  httpMethod: string;
  path: string;
  rawPath?: string;
  query?: string;
  headers: [string, string][];
  passThrough?: boolean;
};

const base = "http://localhost:8123";
const maxRefused = 10_000;

/** The way from Python back to the server: clients without an address, and requests the application passes on. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #refused = new Set<number>();

  constructor(options: UpstreamOptions) {
    this.#options = options;
  }

  /** What that call passes on is not found: it was meant for the application alone. */
  refuse(call: number): void {
    this.#refused.add(call);
    if (this.#refused.size <= maxRefused) return;
    const [oldest] = this.#refused;
    this.#refused.delete(oldest!);
  }

  async answer({ meta }: Incoming, stream: CallStream): Promise<void> {
    const asked = meta as UpstreamMeta;
    const response = await this.#fetch(asked, requestOf(asked, stream));
    const isThere = await stream.send({ status: response.status, headers: [...response.headers] });
    if (isThere) await sendBody(stream, response.body);
    else await response.body?.cancel();
  }

  async #fetch({ passThrough, for: call }: UpstreamMeta, request: Request): Promise<Response> {
    if (!passThrough) return this.#options.callServer(request);
    if (call !== undefined && this.#refused.has(call)) return new Response(null, { status: 404 });
    return this.#options.passOn(request);
  }
}

function requestOf(asked: UpstreamMeta, stream: CallStream): Request {
  const { httpMethod: method, path, rawPath, query, headers, passThrough } = asked;
  const url = new URL(`${base}${rawPath ?? encodeURI(path)}`);
  if (query) url.search = query;
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(url, {
    method,
    // A client of the project's own code names no host that means anything.
    headers: passThrough ? headers : headers.filter(([name]) => name.toLowerCase() !== "host"),
    signal: stream.signal,
    ...(hasBody ? { body: receivedBody(stream.items(), () => undefined), duplex: "half" } : {}),
  } as RequestInit);
}
