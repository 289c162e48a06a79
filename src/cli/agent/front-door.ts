import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { bind } from "../../platform/http/server/bind.ts";
import { within } from "../../platform/within.ts";

type Exchange = { port: number; answered: Promise<void> };

/** Of one connection, and not of what is sent through it. */
const hopHeaders = new Set(["connection", "keep-alive", "proxy-connection", "expect", "upgrade"]);
const generationHost = "127.0.0.1";
/** As the server itself keeps them. */
const keepAliveMs = 75_000;

/**
 * Where people reach a watched project. Their connections stay with this process across generations: each request goes
 * to the generation that serves when it arrives.
 */
export class FrontDoor {
  readonly #server: Server;
  readonly #exchanges = new Set<Exchange>();
  #target: number | undefined;
  /** Why nothing is served. */
  #problem = "The project is being loaded. Try again in a moment.";

  constructor() {
    this.#server = createServer({ keepAliveTimeout: keepAliveMs }, (incoming, outgoing) =>
      this.#pass(incoming, outgoing),
    );
    this.#server.on("upgrade", (incoming, socket, head) => this.#upgrade(incoming, socket, head));
  }

  /** Answers the port. */
  async open(place: { host: string; port: number }): Promise<number> {
    return bind(this.#server, place);
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  /** From now on requests go to that port of this machine. */
  leadTo(port: number): void {
    this.#target = port;
  }

  /** From now on requests are answered with the reason. */
  leadNowhere(problem: string): void {
    this.#target = undefined;
    this.#problem = problem;
  }

  /** Resolves when what was given to that port has begun to be answered, or had as long to arrive. */
  async settled(port: number, limitMs: number): Promise<void> {
    const open = [...this.#exchanges].filter((each) => each.port === port);
    await within(limitMs, Promise.all(open.map(({ answered }) => answered)));
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const port = this.#target;
    if (port === undefined) {
      unavailable(outgoing, this.#problem);
      return;
    }
    const done = this.#begin(port);
    const { method, url: path } = incoming;
    const headers = withoutHops(incoming.rawHeaders);
    const upstream = request({ host: generationHost, port, method, path, headers, agent: false });
    upstream.on("response", (response) => {
      done();
      outgoing.writeHead(response.statusCode!, response.statusMessage, withoutHops(response.rawHeaders));
      response.pipe(outgoing);
      // It ended in the middle: so does what it sent.
      response.on("error", () => outgoing.destroy());
    });
    upstream.on("error", () => {
      done();
      if (outgoing.headersSent) outgoing.destroy();
      else unavailable(outgoing, "The server ended during the request. Try again in a moment.");
    });
    outgoing.on("close", () => {
      done();
      upstream.destroy();
    });
    incoming.pipe(upstream);
  }

  #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const port = this.#target;
    socket.on("error", () => undefined);
    if (port === undefined) {
      socket.end("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    const done = this.#begin(port);
    const upstream = connect(port, generationHost);
    upstream.write(headOf(incoming));
    upstream.write(head);
    upstream.once("data", done);
    upstream.on("error", () => socket.destroy());
    upstream.on("close", () => {
      done();
      socket.destroy();
    });
    socket.on("close", () => upstream.destroy());
    socket.pipe(upstream).pipe(socket);
  }

  #begin(port: number): () => void {
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    const exchange = { port, answered };
    this.#exchanges.add(exchange);
    return () => {
      this.#exchanges.delete(exchange);
      resolve();
    };
  }
}

/** Flat, as they came: names and values in turn. */
function withoutHops(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    if (!hopHeaders.has(headers[at]!.toLowerCase())) kept.push(headers[at]!, headers[at + 1]!);
  }
  return kept;
}

/** The beginning of a request that asks for another protocol, as it came. */
function headOf({ method, url, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}

function unavailable(outgoing: ServerResponse, detail: string): void {
  const headers = { "content-type": "application/json", "retry-after": "1", connection: "close" };
  outgoing.writeHead(503, headers).end(JSON.stringify({ detail }));
}
