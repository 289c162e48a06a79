import type { RawData, WebSocket } from "ws";
import type { Logger } from "../../platform/logger.ts";

export type SocketLineOptions = {
  /** Ends the connection from our side. */
  shutdown: AbortSignal;
  logger: Logger;
  receive(text: string): Promise<void>;
};

/** More than this on its way to a client makes the sender wait. */
const maxBufferedBytes = 1_000_000;
const heartbeatMs = 5_000;
/** A client that shows no sign of life for this long is gone, or will never catch up. */
const silenceMs = 30_000;

/**
 * A WebSocket with bounded memory in both directions: what is sent waits until the client takes it, messages of
 * the client are dealt with one after another while the rest stays in its own buffers, and a client that neither
 * reads nor answers pings is cut off.
 */
export class SocketLine {
  readonly #webSocket: WebSocket;
  readonly #options: SocketLineOptions;
  readonly #gone = new AbortController();
  readonly #beat: NodeJS.Timeout;
  readonly #waiting = new Set<() => void>();
  #receivedAt = performance.now();
  #takenAt = performance.now();
  #inbox: Promise<void> = Promise.resolve();
  #unread = 0;

  constructor(webSocket: WebSocket, options: SocketLineOptions) {
    this.#webSocket = webSocket;
    this.#options = options;
    const { shutdown, logger } = options;
    this.#beat = setInterval(() => this.#check(), heartbeatMs);
    this.#beat.unref();
    const leave = () => webSocket.close(1001, "The server is stopping.");
    shutdown.addEventListener("abort", leave, { once: true });
    webSocket.on("pong", () => {
      this.#receivedAt = performance.now();
    });
    webSocket.on("error", (error) => logger.debug({ err: error }, "a WebSocket failed"));
    webSocket.on("close", () => {
      clearInterval(this.#beat);
      shutdown.removeEventListener("abort", leave);
      this.#gone.abort();
      this.#wakeAll();
    });
    webSocket.on("message", (data) => this.#take(data));
  }

  /** Fires when the connection is gone. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  /** Resolves when there is room for more. */
  async send(text: string): Promise<void> {
    const webSocket = this.#webSocket;
    if (webSocket.readyState !== webSocket.OPEN) return;
    webSocket.send(text, () => {
      this.#takenAt = performance.now();
      this.#wakeAll();
    });
    while (webSocket.bufferedAmount > maxBufferedBytes && !this.#gone.signal.aborted) {
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #check(): void {
    const now = performance.now();
    const full = this.#webSocket.bufferedAmount > maxBufferedBytes;
    // While a message is dealt with nothing is read, so silence then means nothing.
    const silent = this.#unread === 0 && now - this.#receivedAt > silenceMs;
    if (silent || (full && now - this.#takenAt > silenceMs)) this.#webSocket.terminate();
    else if (!full) this.#webSocket.ping();
  }

  #take(data: RawData): void {
    const webSocket = this.#webSocket;
    this.#receivedAt = performance.now();
    this.#unread += 1;
    webSocket.pause();
    this.#inbox = this.#inbox
      .then(() => this.#options.receive(toText(data)))
      .catch((error: unknown) => {
        this.#options.logger.error({ err: error }, "a message of a WebSocket could not be processed");
        webSocket.close(1011, "Internal error.");
      })
      .finally(() => {
        this.#unread -= 1;
        if (this.#unread > 0) return;
        this.#receivedAt = performance.now();
        webSocket.resume();
      });
  }

  #wakeAll(): void {
    for (const wake of [...this.#waiting]) {
      this.#waiting.delete(wake);
      wake();
    }
  }
}

function toText(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString("utf8");
  return Buffer.isBuffer(data) ? data.toString("utf8") : Buffer.from(data).toString("utf8");
}
