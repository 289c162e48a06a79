import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { getRequestListener, RequestError } from "@hono/node-server";
import type { Logger } from "../../logger.ts";
import { within } from "../../within.ts";
import { takeSocketKey } from "../access/socket-key.ts";
import { bind } from "./bind.ts";
import { leavingCode } from "./leaving.ts";
import type { ServerEnv } from "./server-env.ts";
import { urlHost } from "./url-host.ts";

/** Takes over a connection that asks for another protocol. It must end it when `shutdown` aborts. */
export type OnUpgrade = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  shutdown: AbortSignal,
) => void;

/**
 * Takes a request on the wire, before it becomes a web Request, and returns the route's name; null leaves it to the
 * routes. `next` gives it to them later.
 */
export type OnRequest = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  next: () => void,
) => string | null;

export type ListenOptions = {
  host: string;
  port: number;
  logger: Logger;
  onUpgrade?: OnUpgrade;
  onRequest?: OnRequest;
};

export type RunningServer = {
  readonly url: string;
  readonly port: number;
  /**
   * Serves everything for that long, new connections too, and asks every client to close its connection. By the end,
   * load balancers have noticed that they should use other servers.
   */
  takeLeave(leaveMs: number): Promise<void>;
  /**
   * Refuses new requests at once and waits for active ones, at most `graceMs`; then it cuts them off and names them.
   * Idle connections stay open until then: closing one would race with the next request on it, and a refusal tells the
   * client to retry, which a closed connection does not. Event streams are kept until `streamsUntil` settles, since the
   * work they report may still end. An endless stream is then cut in the middle: its client reconnects, which it would
   * not do after a proper end.
   */
  close(options: CloseOptions): Promise<{ interrupted: string[] }>;
};

export type CloseOptions = { graceMs: number; streamsUntil?: Promise<unknown> };

type FetchApp = { fetch(request: Request, env?: ServerEnv): Response | Promise<Response> };
type InFlight = { method: string; route: string; isStream(): boolean; outgoing?: ServerResponse };

/** Longer than the idle time of common proxies, so that they never reuse a connection we are closing. */
const keepAliveMs = 75_000;
/** For streams that have just ended, to send their last event. */
const lastWordsMs = 250;
/** Node's own defaults but for the first; written out, because more than comfort depends on them. */
const parsing = {
  keepAliveTimeout: keepAliveMs,
  insecureHTTPParser: false,
  requireHostHeader: true,
  joinDuplicateHeaders: false,
} as const;
/** As much of a refused body is read, and for as long. */
const refusedBody = { bytes: 64 * 1024, ms: 1_000 };
const stoppingText = JSON.stringify({ detail: "The server is stopping. Try again in a moment." });

export async function listen(app: FetchApp, options: ListenOptions): Promise<RunningServer> {
  const server = new HttpServer(app, options);
  await server.open();
  return server;
}

/** The HTTP server and its active requests, so that it can stop without cutting off clients needlessly. */
class HttpServer implements RunningServer {
  readonly #app: FetchApp;
  readonly #options: ListenOptions;
  readonly #server: Server;
  /** Cuts streams. */
  readonly #shutdown = new AbortController();
  readonly #inFlight = new Set<InFlight>();
  readonly #upgraded = new Map<Duplex, InFlight>();
  readonly #entries = new WeakMap<object, InFlight>();
  readonly #answer: ReturnType<typeof getRequestListener>;
  #port = 0;
  #isLeaving = false;
  #draining = false;
  #onFinished: (() => void) | undefined;
  #stopping: Promise<{ interrupted: string[] }> | undefined;

  constructor(app: FetchApp, options: ListenOptions) {
    this.#app = app;
    this.#options = options;
    this.#answer = getRequestListener(
      (request, bindings) =>
        this.#fetch(request, bindings as { incoming: IncomingMessage; outgoing: ServerResponse }),
      { errorHandler: (error) => unreadableRequest(error, options.logger) },
    );
    this.#server = createServer(parsing, (incoming, outgoing) => this.#take(incoming, outgoing));
    this.#server.on("upgrade", (incoming, socket, head) => this.#upgrade(incoming, socket, head));
  }

  get url(): string {
    return `http://${urlHost(this.#options.host)}:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  async open(): Promise<void> {
    this.#port = await bind(this.#server, this.#options);
    const { logger } = this.#options;
    this.#server.on("error", (error) => logger.error({ err: error }, "the HTTP server failed"));
  }

  async takeLeave(leaveMs: number): Promise<void> {
    if (leaveMs <= 0) return;
    this.#isLeaving = true;
    for (const { outgoing } of this.#inFlight) if (outgoing) closeAfter(outgoing);
    await delay(leaveMs);
  }

  close(options: CloseOptions): Promise<{ interrupted: string[] }> {
    this.#stopping ??= this.#stop(options);
    return this.#stopping;
  }

  #fetch(request: Request, wire: { incoming: IncomingMessage; outgoing: ServerResponse }) {
    const inFlight = this.#entries.get(wire.outgoing);
    const { signal: shutdown } = this.#shutdown;
    return this.#app.fetch(request, { ...wire, shutdown, ...(inFlight ? { inFlight } : {}) });
  }

  #take(incoming: IncomingMessage, outgoing: ServerResponse): void {
    if (this.#draining) {
      refuse(incoming, outgoing);
      return;
    }
    const entry = {
      method: incoming.method ?? "GET",
      route: "(not yet routed)",
      isStream: () => isEventStream(outgoing),
      outgoing,
    };
    if (this.#isLeaving) closeAfter(outgoing);
    this.#entries.set(outgoing, entry);
    this.#inFlight.add(entry);
    outgoing.once("close", () => this.#finished(entry));
    const next = () => void this.#answer(incoming, outgoing);
    const taken = this.#options.onRequest?.(incoming, outgoing, next) ?? null;
    if (taken === null) next();
    else entry.route = taken;
  }

  #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { logger, onUpgrade } = this.#options;
    takeSocketKey(incoming.headers);
    socket.on("error", (error) => logger.debug({ err: error }, "an upgraded connection failed"));
    if (!onUpgrade || this.#draining) {
      const status = onUpgrade
        ? `503 Service Unavailable\r\nX-Error-Code: ${leavingCode}`
        : "426 Upgrade Required";
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const route = (incoming.url ?? "/").split("?", 1)[0]!;
    const entry = { method: "UPGRADE", route, isStream: () => true };
    this.#inFlight.add(entry);
    this.#upgraded.set(socket, entry);
    socket.once("close", () => {
      this.#upgraded.delete(socket);
      this.#finished(entry);
    });
    onUpgrade(incoming, socket, head, this.#shutdown.signal);
  }

  #finished(entry: InFlight): void {
    this.#inFlight.delete(entry);
    this.#onFinished?.();
  }

  async #drained(graceMs: number, isDone: () => boolean): Promise<void> {
    if (isDone()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onFinished = () => {
      if (isDone()) resolve();
    };
    await within(graceMs, promise);
    this.#onFinished = undefined;
  }

  async #stop({
    graceMs,
    streamsUntil = Promise.resolve(),
  }: CloseOptions): Promise<{ interrupted: string[] }> {
    const server = this.#server;
    this.#draining = true;
    const requests = this.#drained(graceMs, () => [...this.#inFlight].every((entry) => entry.isStream()));
    await within(graceMs, Promise.all([requests, streamsUntil]));
    await this.#drained(lastWordsMs, () => this.#inFlight.size === 0);
    this.#shutdown.abort(new Error("The server is stopping."));
    await this.#drained(lastWordsMs, () => this.#inFlight.size === 0);
    const interrupted = [...this.#inFlight].map((entry) => `${entry.method} ${entry.route}`).sort();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    for (const socket of this.#upgraded.keys()) socket.destroy();
    await closed;
    return { interrupted };
  }
}

/** The answer says `Connection: close`, unless its head has gone out already. */
function closeAfter(outgoing: ServerResponse): void {
  outgoing.shouldKeepAlive = false;
}

/** From the head as it went out: headers given to `writeHead` are kept nowhere else. */
function isEventStream(outgoing: ServerResponse): boolean {
  const { _header: head } = outgoing as unknown as { _header: string | null };
  return /^content-type: text\/event-stream/im.test(head ?? "");
}

function refuse(incoming: IncomingMessage, outgoing: ServerResponse): void {
  outgoing.writeHead(503, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(stoppingText),
    connection: "close",
    "retry-after": "5",
    "x-error-code": leavingCode,
  });
  outgoing.flushHeaders();
  if (Number(incoming.headers["content-length"] ?? 0) > refusedBody.bytes) {
    outgoing.end(stoppingText);
    return;
  }
  // A connection that is closed with bytes unread is reset, and the answer may be lost with it.
  const end = () => {
    if (!outgoing.writableEnded) outgoing.end(stoppingText);
  };
  const timer = setTimeout(end, refusedBody.ms);
  let bytes = 0;
  incoming.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > refusedBody.bytes) end();
  });
  incoming.once("end", end);
  outgoing.once("close", () => clearTimeout(timer));
}

/** What cannot even become a request: a target or Host that is no URL. */
function unreadableRequest(error: unknown, logger: Logger): Response {
  if (error instanceof RequestError) {
    return Response.json(
      { detail: "The request target or the Host header is not a valid URL." },
      { status: 400 },
    );
  }
  logger.error({ err: error }, "a request failed outside its route");
  return Response.json({ detail: "Internal error." }, { status: 500 });
}
