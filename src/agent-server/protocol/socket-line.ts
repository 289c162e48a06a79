import type { RawData, WebSocket } from "ws";
import type { Logger } from "../../platform/logger.ts";

export type SocketLineOptions = {
  /** Ends the connection from our side. */
  shutdown: AbortSignal;
  logger: Logger;
  receive(text: string): Promise<void>;
};

export type SocketLine = {
  /** Resolves when there is room for more. */
  send(text: string): Promise<void>;
  /** Fires when the connection is gone. */
  signal: AbortSignal;
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
export function openSocketLine(webSocket: WebSocket, options: SocketLineOptions): SocketLine {
  const { shutdown, logger } = options;
  const gone = new AbortController();
  let receivedAt = performance.now();
  let takenAt = performance.now();
  const waiting = new Set<() => void>();
  let inbox: Promise<void> = Promise.resolve();
  let unread = 0;

  const beat = setInterval(() => {
    const now = performance.now();
    const full = webSocket.bufferedAmount > maxBufferedBytes;
    // While a message is dealt with nothing is read, so silence then means nothing.
    const silent = unread === 0 && now - receivedAt > silenceMs;
    if (silent || (full && now - takenAt > silenceMs)) webSocket.terminate();
    else if (!full) webSocket.ping();
  }, heartbeatMs);
  beat.unref();

  const leave = () => webSocket.close(1001, "The server is stopping.");
  shutdown.addEventListener("abort", leave, { once: true });

  webSocket.on("pong", () => {
    receivedAt = performance.now();
  });
  webSocket.on("error", (error) => logger.debug({ err: error }, "a WebSocket failed"));
  webSocket.on("close", () => {
    clearInterval(beat);
    shutdown.removeEventListener("abort", leave);
    gone.abort();
    wakeAll(waiting);
  });
  webSocket.on("message", (data) => {
    receivedAt = performance.now();
    unread += 1;
    webSocket.pause();
    inbox = inbox
      .then(() => options.receive(toText(data)))
      .catch((error: unknown) => {
        logger.error({ err: error }, "a message of a WebSocket could not be dealt with");
        webSocket.close(1011, "Internal error.");
      })
      .finally(() => {
        unread -= 1;
        if (unread > 0) return;
        receivedAt = performance.now();
        webSocket.resume();
      });
  });

  return {
    signal: gone.signal,
    async send(text) {
      if (webSocket.readyState !== webSocket.OPEN) return;
      webSocket.send(text, () => {
        takenAt = performance.now();
        wakeAll(waiting);
      });
      while (webSocket.bufferedAmount > maxBufferedBytes && !gone.signal.aborted) {
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
  };
}

function wakeAll(waiting: Set<() => void>): void {
  for (const wake of [...waiting]) {
    waiting.delete(wake);
    wake();
  }
}

function toText(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString("utf8");
  return Buffer.isBuffer(data) ? data.toString("utf8") : Buffer.from(data).toString("utf8");
}
