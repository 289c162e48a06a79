import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { type PayloadField, payloadFields } from "../runs/run-change.ts";

/** A run as a graph in this process reports it: the wire's names, values of any kind. */
export type SpanRecord = Record<string, unknown> & { id: string };

export type RecordedSpan = {
  kind: "post" | "patch";
  record: Record<string, unknown>;
  /** JSON, taken when the span was recorded: the graph may change its values afterwards. */
  payloads: Partial<Record<PayloadField, Buffer>>;
};

export type SpanRecorderOptions = {
  ingest(workspaceId: string, project: string, spans: readonly RecordedSpan[]): Promise<void>;
  logger: Logger;
  maxSpans?: number;
  maxBytes?: number;
  flushMs?: number;
  attempts?: number;
};

type Queued = RecordedSpan & { workspaceId: string; project: string; bytes: number };

const batchSize = 500;

/** Takes the spans of graphs in this process, bounded in number and bytes, and hands them over in batches. */
export class SpanRecorder {
  readonly #options: Required<SpanRecorderOptions>;
  #queue: Queued[] = [];
  #queuedBytes = 0;
  // Counts what is being handed over too: it still takes room.
  #held = 0;
  #recorded = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #stopped = false;

  constructor(options: SpanRecorderOptions) {
    this.#options = { maxSpans: 20_000, maxBytes: 64_000_000, flushMs: 200, attempts: 5, ...options };
  }

  /** Never waits and never throws: when the buffer is full the span is dropped and counted. */
  record(place: { workspaceId: string; project: string }, kind: "post" | "patch", span: SpanRecord): void {
    const { maxSpans, maxBytes } = this.#options;
    try {
      if (this.#stopped || this.#held >= maxSpans || this.#queuedBytes >= maxBytes) {
        this.#drop(1, this.#stopped ? "stopped" : "the buffer is full");
        return;
      }
      const queued = { ...place, ...serialize(kind, span) };
      this.#queue.push(queued);
      this.#held += 1;
      this.#queuedBytes += queued.bytes;
      this.#recorded += 1;
      this.#schedule();
    } catch (error) {
      // What cannot be written as JSON cannot be traced; the run continues.
      this.#drop(1, errorMessage(error));
    }
  }

  /** Resolves when everything recorded so far was handed over or given up. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushing ??= this.#drain().finally(() => {
      this.#flushing = undefined;
      if (this.#queue.length > 0) this.#schedule();
    });
    return this.#flushing;
  }

  async stop(): Promise<void> {
    await this.flush();
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  stats(): { queued: number; queuedBytes: number; recorded: number; dropped: number } {
    return {
      queued: this.#held,
      queuedBytes: this.#queuedBytes,
      recorded: this.#recorded,
      dropped: this.#dropped,
    };
  }

  #drop(count: number, reason: string): void {
    // The first of a series is logged; the rest is only counted.
    if (this.#dropped === 0) this.#options.logger.warn({ count, reason }, "trace spans are being dropped");
    this.#dropped += count;
  }

  #schedule(): void {
    if (this.#timer || this.#flushing || this.#stopped) return;
    this.#timer = setTimeout(() => void this.flush(), this.#options.flushMs);
    this.#timer.unref();
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      const taken = this.#queue.slice(0, batchSize);
      this.#queue = this.#queue.slice(batchSize);
      await this.#handOver(taken);
      this.#held -= taken.length;
      for (const span of taken) this.#queuedBytes -= span.bytes;
    }
  }

  async #handOver(taken: readonly Queued[]): Promise<void> {
    const { ingest, attempts } = this.#options;
    const groups = Map.groupBy(taken, (span) => JSON.stringify([span.workspaceId, span.project]));
    for (const spans of groups.values()) {
      const { workspaceId, project } = spans[0]!;
      for (let attempt = 1; ; attempt++) {
        try {
          await ingest(workspaceId, project, spans);
          break;
        } catch (error) {
          if (attempt >= attempts || this.#stopped) {
            this.#drop(spans.length, errorMessage(error));
            break;
          }
          await delay(Math.min(5_000, 100 * 2 ** attempt), undefined, { ref: false });
        }
      }
    }
  }
}

function serialize(kind: "post" | "patch", span: SpanRecord): RecordedSpan & { bytes: number } {
  const record: Record<string, unknown> = { ...span };
  const payloads: RecordedSpan["payloads"] = {};
  let bytes = 500;
  for (const field of payloadFields) {
    const value = record[field];
    delete record[field];
    const text = value === undefined ? undefined : JSON.stringify(value, plain);
    if (text === undefined) continue;
    const content = Buffer.from(text);
    payloads[field] = content;
    bytes += content.byteLength;
  }
  return { kind, record, payloads, bytes };
}

/** JSON has no big integers. */
function plain(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
