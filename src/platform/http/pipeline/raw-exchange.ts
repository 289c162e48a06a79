import type { IncomingMessage, ServerResponse } from "node:http";
import { errorResponse } from "../error-response.ts";
import { requestIdOf } from "../server/request-id.ts";
import { decorateForeign, decorateHeaders } from "./decorate-response.ts";
import type { Pipeline } from "./pipeline.ts";

export type AnswerRights = {
  /** The server that answers sets its own CORS headers. */
  ownCors?: boolean;
  /** The answer is not from the platform's origin, so the platform sets no rules for its pages. */
  ownOrigin?: boolean;
};

/** A request that is answered on the wire, without becoming a web Request: for what only passes through. */
export type RawExchange = {
  requestId: string;
  /** Begins the answer. `headers` are names in lower case and values, one after the other. */
  begin(status: number, headers: string[], options?: AnswerRights): void;
  /** Answers with the error, or cuts the answer off where it has begun. */
  fail(error: unknown): Promise<void>;
};

export type BeginRaw = (incoming: IncomingMessage, outgoing: ServerResponse) => RawExchange;

/** The same id, log line, headers and errors as every route's, for one route. */
export function createRawExchanges(pipeline: Pipeline, route: string): BeginRaw {
  const { cors, accessLog, options } = pipeline;
  const finish = accessLog.forRoute(route);
  return (incoming, outgoing) => {
    const startedMs = performance.now();
    const method = incoming.method ?? "GET";
    const given = incoming.headers["x-request-id"];
    const requestId = requestIdOf(typeof given === "string" ? given : null);
    const origin = incoming.headers.origin ?? null;

    const begin: RawExchange["begin"] = (status, headers, { ownCors = false, ownOrigin = false } = {}) => {
      const pairs = new HeaderPairs(headers);
      if (ownOrigin) decorateForeign(pairs, requestId);
      else decorateHeaders(pairs, null, requestId, cors, true);
      if (origin && !ownCors) cors.decorate(pairs, origin);
      // It throws on headers that cannot be sent; only an answer that began is counted as one.
      outgoing.writeHead(status, pairs.list);
      finish({ method, route, requestId, workspaceId: undefined, status, startedMs }, { incoming, outgoing });
    };
    return {
      requestId,
      begin,
      async fail(error) {
        const response = errorResponse(error, { requestId, method, route, logger: options.logger });
        if (outgoing.headersSent || outgoing.destroyed) {
          outgoing.destroy();
          return;
        }
        const body = Buffer.from(await response.arrayBuffer());
        const headers = [...response.headers].flat();
        begin(response.status, [...headers, "content-length", String(body.byteLength)]);
        outgoing.end(method === "HEAD" ? undefined : body);
      },
    };
  };
}

/** Headers as node takes them fastest: a flat list of names and values. */
class HeaderPairs {
  readonly list: string[];

  constructor(list: string[]) {
    this.list = list;
  }

  #find(name: string): number {
    const { list } = this;
    for (let index = 0; index < list.length; index += 2) if (list[index] === name) return index;
    return -1;
  }

  has(name: string): boolean {
    return this.#find(name) !== -1;
  }

  get(name: string): string | null {
    const index = this.#find(name);
    return index === -1 ? null : this.list[index + 1]!;
  }

  set(name: string, value: string): void {
    const index = this.#find(name);
    if (index === -1) this.list.push(name, value);
    else this.list[index + 1] = value;
  }

  append(name: string, value: string): void {
    this.list.push(name, value);
  }
}
