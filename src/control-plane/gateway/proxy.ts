import type { ServerResponse } from "node:http";
import { type Dispatcher, errors } from "undici";
import { AppError } from "../../platform/errors.ts";
import { isRefusedForLeaving } from "../../platform/http/server/leaving.ts";
import { type EndpointWay, EndpointWays } from "./endpoint-ways.ts";
import { ClientLeft, type RequestBody, type SentBody } from "./request-body.ts";
import type { Server } from "./target.ts";

export type ProxyRequest = {
  server: Server;
  method: string;
  /** Path and query. */
  path: string;
  /** Names in lower case and values, one after the other; framing is not among them. */
  headers: string[];
  body: RequestBody;
  outgoing: ServerResponse;
  /** Writes the head of the answer. */
  onHead(status: number, headers: string[]): void;
};

const repeatable = new Set(["GET", "HEAD", "OPTIONS"]);
const oneWriteBytes = 16 * 1024;

/** Passes requests on and their answers back, as they come. */
export class RequestProxy {
  readonly ways: EndpointWays;

  constructor(ways = new EndpointWays()) {
    this.ways = ways;
  }

  /**
   * Resolves when the answer was passed on, or the client has gone. Rejects when there is no answer, with `NotReached`
   * when no server looked at the request. The request is counted from the beginning.
   */
  async forward(request: ProxyRequest): Promise<void> {
    const { server, outgoing } = request;
    let tried: Set<EndpointWay> | undefined;
    let isRepeated = false;
    for (let way = this.ways.choose(server); ; ) {
      if (way === undefined) throw new NotReached();
      const done = this.ways.begin(way);
      try {
        const body = await request.body.open();
        await exchange(way, request, body);
        return;
      } catch (error) {
        if (error instanceof ClientLeft) {
          outgoing.destroy();
          return;
        }
        if (!(error instanceof NoAnswer)) throw error;
        if (error.isTaken) {
          // The server had just closed this connection; a request that changes nothing can simply be sent again.
          if (isRepeated || request.body.isGiven || !repeatable.has(request.method)) throw unreachable(error);
          isRepeated = true;
        } else {
          this.ways.avoid(way);
          tried ??= new Set();
          tried.add(way);
        }
        way = this.ways.choose(server, tried);
      } finally {
        done();
      }
    }
  }

  close(): void {
    this.ways.close();
  }
}

/**
 * None of a server's endpoints takes requests: none could be connected to, or they are stopping and refused it unseen.
 * The current server may be asked instead.
 */
export class NotReached extends Error {
  constructor() {
    super("No endpoint of the server takes requests.");
  }
}

/** One request and its answer. */
function exchange(way: EndpointWay, request: ProxyRequest, { body, bytes }: SentBody): Promise<void> {
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
    way.pool.dispatch(
      { path: request.path, method: request.method, headers, body },
      {
        onRequestStart(given) {
          controller = given;
          if (outgoing.destroyed) given.abort(new ClientLeft());
        },
        onResponseStarted() {
          answering = true;
          way.isHeard = true;
        },
        onResponseStart(given, status, answered) {
          // Interim answers are about the connection; the real one follows.
          if (status >= 100 && status < 200) return;
          // What was passed on in parts is gone; anything else can be sent to another one.
          const isWhole = body === null || Buffer.isBuffer(body);
          if (isWhole && isRefusedForLeaving({ status, headers: answered })) {
            given.abort(new ServerLeaves());
            return;
          }
          if (status < 100) throw badAnswer(new Error(`its status is ${status}`));
          // No body follows, even if a length is declared.
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
          way.isHeard = true;
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

/** The server is stopping, and refused the request before it looked at it. */
class ServerLeaves extends Error {}

class NoAnswer extends Error {
  /** Whether the server may have taken the request; a second one does not help if the server is not there. */
  readonly isTaken: boolean;

  constructor(cause: Error, isTaken: boolean) {
    super(cause.message, { cause });
    this.isTaken = isTaken;
  }
}

/** Dead, or alive and not speaking HTTP: the one is asked again in a moment, the other has to be mended. */
function failureOf(error: Error, answering: boolean, connected: boolean): Error {
  if (error instanceof AppError || error instanceof ClientLeft) return error;
  if (error instanceof ServerLeaves) return new NoAnswer(error, false);
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
