import { Readable } from "node:stream";
import type { BlobBody } from "./blob-store.ts";

export function emptyBody(): BlobBody {
  return { bytes: 0, stream: Readable.from([], { objectMode: false }) };
}

/** The same bytes, with failures as the storage's own; ends with the signal, and with its reader. */
export function readableOf(
  source: Readable,
  failureOf: (error: unknown) => Error,
  signal: AbortSignal | undefined,
): Readable {
  const stop = () => source.destroy();
  signal?.addEventListener("abort", stop, { once: true });
  async function* chunks() {
    try {
      for await (const chunk of source) yield chunk as Buffer;
      signal?.throwIfAborted();
    } catch (error) {
      signal?.throwIfAborted();
      throw failureOf(error);
    }
  }
  const stream = Readable.from(chunks(), { objectMode: false });
  // Also for a stream that was never read.
  stream.once("close", () => {
    signal?.removeEventListener("abort", stop);
    source.destroy();
  });
  return stream;
}
