import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "../../logger.ts";
import type { HttpMetrics, RequestObserver } from "../../metrics.ts";

export type Exchange = {
  method: string;
  /** The template, never the path: paths hold ids, and their number is unbounded. */
  route: string;
  requestId: string;
  workspaceId: string | undefined;
  status: number;
  startedMs: number;
  /** Of the request, for the log that names some. */
  headers?: Headers;
};

/** The headers to write down of a request; none by default, because they hold credentials. */
export type PickHeaders = (headers: Headers) => Record<string, string>;

type Wire = { incoming?: IncomingMessage; outgoing?: ServerResponse } | undefined;

const reads = new Set(["GET", "HEAD", "OPTIONS"]);
/** Asked every few seconds by probes. */
const quietRoutes = new Set(["/ok", "/health", "/ready", "/metrics"]);

/**
 * One line and one observation per request, written when the last byte has left. No query values, only picked headers.
 * At `info` there is a line for each change or start of something, and for each failure; reads are `debug`.
 */
export class AccessLog {
  readonly #logger: Logger;
  readonly #metrics: HttpMetrics;
  readonly #pickHeaders: PickHeaders | undefined;

  constructor(logger: Logger, metrics: HttpMetrics, pickHeaders?: PickHeaders) {
    this.#logger = logger;
    this.#metrics = metrics;
    this.#pickHeaders = pickHeaders;
  }

  /** What is counted and logged for one route; built once per route. `onlyReads`: also where it is a POST, as a search is. */
  forRoute(route: string, onlyReads = false): (exchange: Exchange, wire: Wire) => void {
    const observe = this.#metrics.requestObserver(route);
    return (exchange, wire) => {
      const level = this.#levelOf(exchange, onlyReads);
      const outgoing = wire?.outgoing;
      if (!outgoing) {
        this.#record(level, observe, exchange, undefined, false);
        return;
      }
      // The connection may have sent earlier answers already.
      const socket = outgoing.socket;
      const bytesBefore = socket?.bytesWritten ?? 0;
      outgoing.once("close", () => {
        const bytes = socket ? socket.bytesWritten - bytesBefore : undefined;
        this.#record(level, observe, exchange, bytes, !outgoing.writableFinished);
      });
    };
  }

  #levelOf({ method, route, status }: Exchange, onlyReads: boolean): "debug" | "info" {
    if (quietRoutes.has(route)) return "debug";
    // Who names headers to log wants to see the requests.
    if (this.#pickHeaders !== undefined || status >= 500) return "info";
    return onlyReads || reads.has(method) ? "debug" : "info";
  }

  #record(
    level: "debug" | "info",
    observe: RequestObserver,
    exchange: Exchange,
    bytes: number | undefined,
    cutOff: boolean,
  ): void {
    const logger = this.#logger;
    const pickHeaders = this.#pickHeaders;
    const ms = performance.now() - exchange.startedMs;
    observe(exchange.method, exchange.status, ms);
    if (!logger.isLevelEnabled(level)) return;
    const { headers } = exchange;
    logger[level](
      {
        method: exchange.method,
        route: exchange.route,
        status: exchange.status,
        ms: Math.round(ms * 10) / 10,
        ...(bytes === undefined ? {} : { bytes }),
        request_id: exchange.requestId,
        ...(exchange.workspaceId === undefined ? {} : { workspace_id: exchange.workspaceId }),
        ...(pickHeaders && headers ? { headers: pickHeaders(headers) } : {}),
        ...(cutOff ? { cut_off: true } : {}),
      },
      "request",
    );
  }
}
