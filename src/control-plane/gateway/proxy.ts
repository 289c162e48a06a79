import type { IncomingMessage, ServerResponse } from "node:http";
import { type Dispatcher, errors, Pool } from "undici";
import { AppError } from "../../platform/errors.ts";
import { ClientLeft, type Framing, openBody, type SentBody } from "./request-body.ts";

export type Instance = { id: string; port: number };

export type ProxyRequest = {
  instance: Instance;
  method: string;
  /** Path and query. */
  path: string;
  /** Names in lower case and values, one after the other; framing is not among them. */
  headers: string[];
  framing: Framing;
  maxBodyBytes: number;
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  /** Writes the head of the answer. */
  onHead(status: number, headers: string[]): void;
};

const repeatable = new Set(["GET", "HEAD", "OPTIONS"]);
const oneWriteBytes = 16 * 1024;
const idlePoolMs = 60_000;

type Kept = { pool: Pool; usedMs: number };

/** Passes requests on and their answers back, as they come, and counts what is under way to each server. */
export class RequestProxy {
  readonly #pools = new Map<string, Kept>();
  readonly #counts = new Map<string, number>();

  inFlight(instanceId: string): number {
    return this.#counts.get(instanceId) ?? 0;
  }

  /** Resolves when the answer was passed on, or nobody wants it any more; rejects when there is none. */
  async forward(request: ProxyRequest): Promise<void> {
    const done = this.begin(request.instance.id);
    try {
      await this.#send(request);
    } catch (error) {
      if (error instanceof ClientLeft) request.outgoing.destroy();
      else throw error instanceof NoAnswer ? unreachable(error) : error;
    } finally {
      done();
    }
  }

  close(): void {
    for (const { pool } of this.#pools.values()) void pool.destroy();
    this.#pools.clear();
  }

  /** Counts something that is under way to a server; what it returns ends that. */
  begin(instanceId: string): () => void {
    this.#counts.set(instanceId, (this.#counts.get(instanceId) ?? 0) + 1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      const left = (this.#counts.get(instanceId) ?? 1) - 1;
      if (left === 0) this.#counts.delete(instanceId);
      else this.#counts.set(instanceId, left);
    };
  }

  #poolOf({ id, port }: Instance): Pool {
    const usedMs = performance.now();
    const known = this.#pools.get(id);
    if (known) {
      known.usedMs = usedMs;
      return known.pool;
    }
    // Connections close by themselves when nobody uses them; what is left of servers that went is dropped here.
    for (const [other, kept] of this.#pools) {
      if (this.#counts.has(other) || usedMs - kept.usedMs < idlePoolMs) continue;
      this.#pools.delete(other);
      void kept.pool.destroy();
    }
    const pool = new Pool(`http://127.0.0.1:${port}`, {
      // One request at a time on a connection: an answer can only belong to the one that was asked.
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: 64 * 1024,
      // A run may take hours before its first byte.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: 4_000,
      keepAliveMaxTimeout: 60_000,
      connect: { timeout: 5_000 },
    });
    this.#pools.set(id, { pool, usedMs });
    return pool;
  }

  async #send(request: ProxyRequest): Promise<void> {
    const body = await openBody(request.incoming, request.framing, request.maxBodyBytes);
    try {
      await exchange(this.#poolOf(request.instance), request, body);
    } catch (error) {
      // The server had just closed this connection; a request that changes nothing can simply be sent again.
      const again = error instanceof NoAnswer && error.connected && body.body === null;
      if (!again || !repeatable.has(request.method)) throw error;
      await exchange(this.#poolOf(request.instance), request, body);
    } finally {
      body.stop();
    }
  }
}

/** One request and its answer. */
function exchange(pool: Pool, request: ProxyRequest, { body, bytes }: SentBody): Promise<void> {
  return new Promise((resolve, reject) => {
    const { outgoing } = request;
    let controller: Dispatcher.DispatchController | undefined;
    let answering = false;
    let begun = false;
    /** Bytes still to come of an answer with a content-length. */
    let left = Number.NaN;
    const settle = (error?: Error) => {
      outgoing.off("close", onClosed);
      outgoing.off("drain", onDrain);
      if (error) reject(error);
      else resolve();
    };
    // The client left: the request to the server behind is aborted.
    const onClosed = () => controller?.abort(new ClientLeft());
    const onDrain = () => controller?.resume();
    outgoing.on("close", onClosed);
    outgoing.on("drain", onDrain);
    const headers = bytes === null ? request.headers : [...request.headers, "content-length", String(bytes)];
    pool.dispatch(
      { path: request.path, method: request.method, headers, body },
      {
        onRequestStart(given) {
          controller = given;
          if (outgoing.destroyed) given.abort(new ClientLeft());
        },
        onResponseStarted() {
          answering = true;
        },
        onResponseStart(_given, status, answered) {
          // Interim answers are about the connection; the real one follows.
          if (status >= 100 && status < 200) return;
          if (status < 100) throw badAnswer(new Error(`its status is ${status}`));
          // No body follows, whatever length it declares.
          if (status === 204) delete answered["content-length"];
          const list = pairsOf(answered);
          left = bodyBytesOf(request.method, status, answered["content-length"]);
          request.onHead(status, list);
          begun = true;
          // Once what arrived with it has been handed over: a stream's head goes out before its first event.
          queueMicrotask(() => {
            if (!outgoing.writableEnded && !outgoing.destroyed) outgoing.flushHeaders();
          });
        },
        onResponseData(given, chunk) {
          left -= chunk.length;
          if (left === 0) endWith(outgoing, chunk);
          else if (!outgoing.write(chunk) && !outgoing.destroyed) given.pause();
        },
        onResponseEnd() {
          if (!outgoing.writableEnded) outgoing.end();
          settle();
        },
        onResponseError(_given, error) {
          if (begun) {
            // Half an answer must not look like a whole one.
            if (!outgoing.writableFinished) outgoing.destroy();
            settle();
          } else settle(failureOf(error, answering, controller !== undefined));
        },
      },
    );
  });
}

/** Node joins a head and a text into one write; a head and a buffer are two. */
function endWith(outgoing: ServerResponse, chunk: Buffer): void {
  if (chunk.length <= oneWriteBytes) outgoing.end(chunk.toString("latin1"), "latin1");
  else outgoing.end(chunk);
}

function pairsOf(headers: Record<string, string | string[] | undefined>): string[] {
  const pairs: string[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (Array.isArray(value)) for (const item of value) pairs.push(name, item);
    else if (value !== undefined) pairs.push(name, value);
  }
  return pairs;
}

function bodyBytesOf(method: string, status: number, length: string | string[] | undefined): number {
  if (method === "HEAD" || status === 204 || status === 304 || typeof length !== "string") return Number.NaN;
  return Number(length);
}

class NoAnswer extends Error {
  /** Whether the request was on its way; a server that is not there does not come back by asking twice. */
  readonly connected: boolean;

  constructor(cause: Error, connected: boolean) {
    super(cause.message, { cause });
    this.connected = connected;
  }
}

/** Dead, or alive and not speaking HTTP: the one is asked again in a moment, the other has to be mended. */
function failureOf(error: Error, answering: boolean, connected: boolean): Error {
  if (error instanceof AppError || error instanceof ClientLeft) return error;
  if (error instanceof errors.InvalidArgumentError || error instanceof errors.NotSupportedError) {
    return new AppError({
      code: "gateway.request_refused",
      kind: "invalid",
      message: `The request cannot be forwarded: ${error.message}.`,
      cause: error,
    });
  }
  const isBad = answering || error instanceof errors.HTTPParserError || isHeaderError(error);
  return isBad ? badAnswer(error) : new NoAnswer(error, connected);
}

/** Node's own check of what is about to be written to the client. */
function isHeaderError(error: Error): boolean {
  return "code" in error && typeof error.code === "string" && error.code.startsWith("ERR_");
}

export function badAnswer(cause: Error): AppError {
  return new AppError({
    code: "gateway.bad_answer",
    kind: "bad_gateway",
    message: "The deployed server's response is not HTTP. See its log.",
    detail: { reason: cause.message },
    cause,
  });
}

export function unreachable(cause: Error): AppError {
  return new AppError({
    code: "gateway.unreachable",
    kind: "unavailable",
    message: "The deployed server does not respond: it ended, or is being replaced. Try again in a moment.",
    headers: { "retry-after": "1" },
    cause,
  });
}
