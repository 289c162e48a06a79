import { EventSourceParserStream } from "eventsource-parser/stream";
import { ApiError, request } from "./client.ts";

export type ServerEvent = { event: string; data: string; id: string | null };

export type FollowOptions = {
  path: string;
  method?: "GET" | "POST";
  body?: unknown;
  /** The deployment whose server streams; left out: the platform. */
  deploymentId?: string | null | undefined;
  /** Where to go on from, when the page knows. */
  lastEventId?: string | undefined;
  signal: AbortSignal;
  onEvent(event: ServerEvent): void;
  /** Connected, also again after a break. */
  onOpen?(): void;
  /** A break, before the next try. */
  onBreak?(): void;
  /** Do not reconnect when the server has ended the stream. Default: connect again. */
  endsByItself?: boolean;
};

const firstDelayMs = 500;
const longestDelayMs = 15_000;

/**
 * Follows a stream of server-sent events with its own headers (which the browser's EventSource cannot send). Reconnects
 * automatically, with growing delays, and sends where it stopped. Returns when aborted, ended or refused.
 */
export async function followEvents(options: FollowOptions): Promise<void> {
  const { signal } = options;
  let lastEventId = options.lastEventId;
  let delayMs = firstDelayMs;
  while (!signal.aborted) {
    try {
      const response = await request(options.method ?? "GET", options.path, options.body, {
        signal,
        deploymentId: options.deploymentId,
        headers: { accept: "text/event-stream", ...(lastEventId ? { "last-event-id": lastEventId } : {}) },
      });
      options.onOpen?.();
      for await (const event of readEvents(response)) {
        delayMs = firstDelayMs;
        if (event.id !== null) lastEventId = event.id;
        options.onEvent(event);
      }
      if (options.endsByItself) return;
    } catch (error) {
      if (signal.aborted) return;
      // Refused, not broken: asking again would be refused again.
      if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429)
        throw error;
    }
    options.onBreak?.();
    await wait(delayMs, signal);
    delayMs = Math.min(delayMs * 2, longestDelayMs);
  }
}

/** The events of a body as they arrive. */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  if (!response.body) return;
  const events = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  // Not `for await`: not every browser can iterate over a stream.
  const reader = events.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield { event: value.event ?? "message", data: value.data, id: value.id ?? null };
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Ends early when the network comes back: no need to wait out a long delay then. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    addEventListener("online", done, { once: true });
  });
}
