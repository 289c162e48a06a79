import type { ReaderBudget } from "./reader-budget.ts";

/** One frame. `id` is what a client sends back as Last-Event-ID. */
export type SseFrame = { event: string; data: string; id?: string };

/** Frames, and bytes of frames that several readers share. */
export type SseBatch = readonly (SseFrame | Uint8Array)[];

/** What is handed over at once of a large frame: a reader that stops leaves the rest where it is. */
const pieceBytes = 64 * 1024;

/**
 * The connection under a stream. `signal` cuts it, for example when the server stops. Not a proper end: clients take
 * that for the end of what they listen to, while a broken connection makes them reconnect and resume.
 */
export type StreamConnection = {
  signal?: AbortSignal;
  /** Breaks it; without it the body of the answer fails. */
  cut?(): void;
};

export type SseOptions = StreamConnection & {
  headers?: Record<string, string>;
  heartbeatMs?: number;
  /** Bounds what is held for readers; one that is cut is cut as by the signal. */
  budget?: ReaderBudget | undefined;
  /** The client went away before the stream was over. */
  onDisconnect?(): void;
};

const encoder = new TextEncoder();
const heartbeat = encoder.encode(": heartbeat\n\n");

const nothing = new Uint8Array();

/** Small frames as one; those that are bytes already stay by themselves. */
function toChunks(batch: SseBatch): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let text = "";
  for (const frame of batch) {
    if (!(frame instanceof Uint8Array)) text += encodeFrame(frame);
    else {
      if (text !== "") chunks.push(encoder.encode(text));
      text = "";
      chunks.push(frame);
    }
  }
  if (text !== "") chunks.push(encoder.encode(text));
  return chunks;
}

function cutUp(chunk: Uint8Array): Uint8Array[] {
  if (chunk.byteLength <= pieceBytes) return [chunk];
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < chunk.byteLength; at += pieceBytes) pieces.push(chunk.subarray(at, at + pieceBytes));
  return pieces;
}

export function encodeFrame(frame: SseFrame): string {
  // JSON text has no raw line breaks, so one data line is always enough.
  const id = frame.id === undefined ? "" : `id: ${frame.id}\n`;
  return `event: ${frame.event}\ndata: ${frame.data}\n${id}\n`;
}

/**
 * A response that streams batches of frames as the client reads them: the next batch is requested only when the last
 * one was read, and a large frame is sent in pieces, so a slow reader slows down its source.
 */
export function sseResponse(
  frames: (signal: AbortSignal) => AsyncIterable<SseBatch>,
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
    holding?.end();
    pieces.length = 0;
  };
  let fail: ((reason: Error) => void) | undefined;
  const cutOff = (reason: string) => {
    const wasOver = over;
    end();
    stop.abort();
    if (wasOver) return;
    if (options.cut) options.cut();
    else fail?.(new Error(reason));
  };
  const shut = () => cutOff("The server is stopping.");
  const holding = options.budget?.open(() => {
    cutOff("The reader is too slow.");
    void iterator.return?.();
  });
  const pieces: Uint8Array[] = [];
  options.signal?.addEventListener("abort", shut, { once: true });

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        fail = (reason) => controller.error(reason);
        if (options.signal?.aborted) shut();
        beat = setInterval(() => {
          // Only when the client keeps up: a full buffer needs no heartbeat.
          if ((controller.desiredSize ?? 0) > 0) controller.enqueue(heartbeat);
        }, options.heartbeatMs ?? 5_000);
        beat.unref();
      },
      async pull(controller) {
        try {
          if (pieces.length === 0) {
            holding?.hold([]);
            const { done, value } = await iterator.next();
            if (over) return;
            if (done) {
              end();
              controller.close();
              return;
            }
            const chunks = toChunks(value);
            holding?.hold(chunks);
            pieces.push(...chunks.flatMap(cutUp));
          } else holding?.moved();
          controller.enqueue(pieces.shift() ?? nothing);
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
