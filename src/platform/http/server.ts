import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener, RequestError } from "@hono/node-server";
import { AppError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { ServerEnv } from "./pipeline.ts";
import { json } from "./route.ts";
import { takeSocketKey } from "./socket-key.ts";

/** Takes over a connection that asks for another protocol. It must end it when `shutdown` aborts. */
export type OnUpgrade = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  shutdown: AbortSignal,
) => void;

/**
 * Takes a request on the wire, before it becomes a web Request, and says by which route; null leaves it to the
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
  url: string;
  port: number;
  /** Aborts when `close` is called. */
  shutdownSignal: AbortSignal;
  /** Waits for running requests at most `graceMs`, then cuts them off and names them. */
  close(options: { graceMs: number }): Promise<{ interrupted: string[] }>;
};

type FetchApp = { fetch(request: Request, env?: ServerEnv): Response | Promise<Response> };
type InFlight = { method: string; route: string };

/** Longer than the idle time of common proxies, so that they never reuse a connection we are closing. */
const keepAliveMs = 75_000;
const stoppingText = JSON.stringify({ detail: "The server is stopping. Ask again in a moment." });

export async function listen(app: FetchApp, options: ListenOptions): Promise<RunningServer> {
  const { logger, onUpgrade, onRequest } = options;
  const shutdown = new AbortController();
  const inFlight = new Set<InFlight>();
  const upgraded = new Map<Duplex, InFlight>();
  let onDrained: (() => void) | undefined;
  const finished = (entry: InFlight) => {
    inFlight.delete(entry);
    if (inFlight.size === 0) onDrained?.();
  };

  const entries = new WeakMap<object, InFlight>();
  const answer = getRequestListener(
    (request, bindings) => {
      const { incoming, outgoing } = bindings as { incoming: IncomingMessage; outgoing: ServerResponse };
      const inFlight = entries.get(outgoing);
      return app.fetch(request, {
        incoming,
        outgoing,
        shutdown: shutdown.signal,
        ...(inFlight ? { inFlight } : {}),
      });
    },
    { errorHandler: (error) => unreadableRequest(error, logger) },
  );

  const server = createServer({ keepAliveTimeout: keepAliveMs }, (incoming, outgoing) => {
    if (shutdown.signal.aborted) {
      refuse(outgoing);
      return;
    }
    const entry = { method: incoming.method ?? "GET", route: "(not yet routed)" };
    entries.set(outgoing, entry);
    inFlight.add(entry);
    outgoing.once("close", () => finished(entry));
    const next = () => void answer(incoming, outgoing);
    const taken = onRequest?.(incoming, outgoing, next) ?? null;
    if (taken === null) next();
    else entry.route = taken;
  });

  server.on("upgrade", (incoming, socket, head) => {
    takeSocketKey(incoming.headers);
    socket.on("error", (error) => logger.debug({ err: error }, "an upgraded connection failed"));
    if (!onUpgrade || shutdown.signal.aborted) {
      const status = onUpgrade ? "503 Service Unavailable" : "426 Upgrade Required";
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    const entry = { method: "UPGRADE", route: (incoming.url ?? "/").split("?", 1)[0]! };
    inFlight.add(entry);
    upgraded.set(socket, entry);
    socket.once("close", () => {
      upgraded.delete(socket);
      finished(entry);
    });
    onUpgrade(incoming, socket, head, shutdown.signal);
  });

  const port = await bind(server, options);
  server.on("error", (error) => logger.error({ err: error }, "the HTTP server failed"));

  const stop = async (graceMs: number) => {
    shutdown.abort(new Error("The server is stopping."));
    server.closeIdleConnections();
    await drained(inFlight, graceMs, (callback) => {
      onDrained = callback;
    });
    const interrupted = [...inFlight].map((entry) => `${entry.method} ${entry.route}`).sort();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    for (const socket of upgraded.keys()) socket.destroy();
    await closed;
    return { interrupted };
  };
  let stopping: Promise<{ interrupted: string[] }> | undefined;
  return {
    url: `http://${urlHost(options.host)}:${port}`,
    port,
    shutdownSignal: shutdown.signal,
    close({ graceMs }) {
      stopping ??= stop(graceMs);
      return stopping;
    },
  };
}

function bind(server: Server, { host, port }: ListenOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => reject(bindError(error, host, port));
    server.once("error", onError);
    server.listen({ host: host.replace(/^\[|\]$/g, ""), port }, () => {
      server.off("error", onError);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function bindError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const base = { kind: "unavailable", retryable: false, cause: error } as const;
  switch (error.code) {
    case "EADDRINUSE":
      return new AppError({
        ...base,
        code: "server.port_taken",
        message: `Port ${port} on ${host} is in use by another process. Stop that process, or choose another port with TREADLE_PORT.`,
      });
    case "EACCES":
      return new AppError({
        ...base,
        code: "server.port_not_permitted",
        message: `This user may not listen on port ${port}. Choose a port above 1023 with TREADLE_PORT.`,
      });
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new AppError({
        ...base,
        code: "server.address_unavailable",
        message: `${host} is no address of this machine. Set TREADLE_HOST to one that is, for example 127.0.0.1 or 0.0.0.0.`,
      });
    default:
      return error;
  }
}

/** Resolves when nothing is in flight any more, or after the grace. */
function drained(
  inFlight: Set<InFlight>,
  graceMs: number,
  subscribe: (callback: () => void) => void,
): Promise<void> {
  if (inFlight.size === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, graceMs);
    subscribe(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function refuse(outgoing: ServerResponse): void {
  outgoing.writeHead(503, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(stoppingText),
    connection: "close",
    "retry-after": "5",
  });
  outgoing.end(stoppingText);
}

/** What cannot even become a request: a target or Host that is no URL. */
function unreadableRequest(error: unknown, logger: Logger): Response {
  if (error instanceof RequestError) {
    return json(400, { detail: "The request target or the Host header is not a valid URL." });
  }
  logger.error({ err: error }, "a request failed outside its route");
  return json(500, { detail: "Internal error." });
}

function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::" || host === "[::]") return "localhost";
  return host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
}
