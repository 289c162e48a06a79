/** One frame. `id` is what a client sends back as Last-Event-ID. */
export type SseFrame = { event: string; data: string; id?: string };

export type SseOptions = {
  headers?: Record<string, string>;
  heartbeatMs?: number;
  /**
   * Cuts the stream, for example when the server stops. Not a proper end: clients take that for the end of what they
   * listen to, while a broken connection makes them come back and go on where they were.
   */
  signal?: AbortSignal;
  /** The client went away before the stream was over. */
  onDisconnect?(): void;
};

const encoder = new TextEncoder();
const heartbeat = encoder.encode(": heartbeat\n\n");

export function encodeFrame(frame: SseFrame): string {
  // JSON text has no raw line breaks, so one data line is always enough.
  const id = frame.id === undefined ? "" : `id: ${frame.id}\n`;
  return `event: ${frame.event}\ndata: ${frame.data}\n${id}\n`;
}

/**
 * A response that streams batches of frames as the client takes them: the next batch is asked for only
 * when the last one was read, so a slow reader holds back its source and costs no memory.
 */
export function sseResponse(
  frames: (signal: AbortSignal) => AsyncIterable<readonly SseFrame[]>,
  options: SseOptions = {},
): Response {
  const stop = new AbortController();
  const iterator = frames(stop.signal)[Symbol.asyncIterator]();
  let beat: NodeJS.Timeout | undefined;
  let over = false;
  const end = () => {
    over = true;
    clearInterval(beat);
    options.signal?.removeEventListener("abort", shut);
  };
  let cut: ((reason: Error) => void) | undefined;
  const shut = () => {
    const wasOver = over;
    end();
    stop.abort();
    if (!wasOver) cut?.(new Error("The server is stopping."));
  };
  options.signal?.addEventListener("abort", shut, { once: true });

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        cut = (reason) => controller.error(reason);
        if (options.signal?.aborted) shut();
        beat = setInterval(() => {
          // Only when the client keeps up: a full buffer needs no heartbeat.
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(heartbeat);
        }, options.heartbeatMs ?? 5_000);
        beat.unref();
      },
      async pull(controller) {
        try {
          const { done, value } = await iterator.next();
          if (over) return;
          if (done) {
            end();
            controller.close();
            return;
          }
          controller.enqueue(encoder.encode(value.map(encodeFrame).join("")));
        } catch (error) {
          if (over) return;
          end();
          controller.error(error);
        }
      },
      async cancel() {
        const finished = over;
        end();
        stop.abort();
        if (!finished) options.onDisconnect?.();
        await iterator.return?.();
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(body, {
    status: 200,
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      ...options.headers,
    },
  });
}
