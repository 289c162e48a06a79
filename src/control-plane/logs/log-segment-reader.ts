import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { BlobStore } from "../../platform/blob/blob-store.ts";
import { isBlobFailure } from "../../platform/blob/s3-failure.ts";
import type { LogRow } from "./log.ts";
import {
  exactFilter,
  type LogSegment,
  mostUnpackedBytes,
  roughFilter,
  segmentKey,
  unpackLine,
} from "./log-segment.ts";
import type { LogQuery } from "./log-store.ts";

/** The lines of the answer that the segment has, or why it has none to give. */
export type SegmentLines = LogRow[] | "missing" | "damaged";

/** Reads it from its beginning to where the answer is full; keeps only what the answer needs. */
export async function readSegment(
  blobs: BlobStore,
  segment: LogSegment,
  query: LogQuery,
  signal?: AbortSignal,
): Promise<SegmentLines> {
  const body = await blobs.get(segmentKey(segment), signal ? { signal } : {});
  if (body === null) return "missing";
  const wanted = new WantedLines(segment, query);
  try {
    await pipeline(body.stream, createGunzip(), async (chunks: AsyncIterable<Buffer>) => {
      const decoder = new TextDecoder("utf-8", { fatal: true });
      let rest = "";
      let bytes = 0;
      for await (const chunk of chunks) {
        bytes += chunk.length;
        if (bytes > mostUnpackedBytes) throw new Error("too large");
        const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split("\n");
        rest = lines.pop()!;
        for (const line of lines) wanted.see(line);
        if (wanted.isComplete) return;
      }
      wanted.end(rest);
    });
  } catch (error) {
    signal?.throwIfAborted();
    if (isBlobFailure(error)) throw error;
    // What unpacks to something else than lines was not packed here.
    if (!wanted.isComplete) return "damaged";
  }
  return wanted.lines;
}

class WantedLines {
  readonly #segment: LogSegment;
  readonly #query: LogQuery;
  readonly #mayMatch: (packed: string) => boolean;
  readonly #matches: (line: LogRow) => boolean;
  #found: LogRow[] = [];
  #seen = 0;

  constructor(segment: LogSegment, query: LogQuery) {
    this.#segment = segment;
    this.#query = query;
    this.#mayMatch = roughFilter(query);
    this.#matches = exactFilter(query);
  }

  /** Only oldest first: the newest ones are at the end. */
  get isComplete(): boolean {
    return this.#query.order === "asc" && this.#found.length >= this.#query.limit;
  }

  get lines(): LogRow[] {
    const { order, limit } = this.#query;
    return order === "asc" ? this.#found.slice(0, limit) : this.#found.slice(-limit);
  }

  see(packed: string): void {
    this.#seen += 1;
    if (!this.#mayMatch(packed)) return;
    const line = unpackLine(packed, this.#segment.kind);
    if (!this.#matches(line)) return;
    this.#found.push(line);
    // Not at every line: what is cut off is copied.
    if (this.#found.length >= 2 * this.#query.limit && this.#query.order === "desc") this.#found = this.lines;
  }

  end(rest: string): void {
    if (rest !== "" || this.#seen !== this.#segment.lines)
      throw new Error("not as many lines as were packed");
  }
}
