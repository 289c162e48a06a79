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

export type SpanRecorder = {
  /** Never waits and never throws: when the buffer is full the span is dropped and counted. */
  record(place: { workspaceId: string; project: string }, kind: "post" | "patch", span: SpanRecord): void;
  /** Resolves when everything recorded so far was handed over or given up. */
  flush(): Promise<void>;
  stop(): Promise<void>;
  stats(): { queued: number; queuedBytes: number; recorded: number; dropped: number };
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

export function createSpanRecorder(options: SpanRecorderOptions): SpanRecorder {
  const { ingest, logger, maxSpans = 20_000, maxBytes = 64_000_000, flushMs = 200, attempts = 5 } = options;
  let queue: Queued[] = [];
  let queuedBytes = 0;
  // Counts what is being handed over too: it still takes room.
  let held = 0;
  let recorded = 0;
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> | undefined;
  let stopped = false;

  function drop(count: number, reason: string): void {
    // The first of a series is logged; the rest is only counted.
    if (dropped === 0) logger.warn({ count, reason }, "trace spans are being dropped");
    dropped += count;
  }

  function schedule(): void {
    if (timer || flushing || stopped) return;
    timer = setTimeout(() => void flush(), flushMs);
    timer.unref();
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    flushing ??= drain().finally(() => {
      flushing = undefined;
      if (queue.length > 0) schedule();
    });
    return flushing;
  }

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      const taken = queue.slice(0, batchSize);
      queue = queue.slice(batchSize);
      await handOver(taken);
      held -= taken.length;
      for (const span of taken) queuedBytes -= span.bytes;
    }
  }

  async function handOver(taken: readonly Queued[]): Promise<void> {
    const groups = Map.groupBy(taken, (span) => JSON.stringify([span.workspaceId, span.project]));
    for (const spans of groups.values()) {
      const { workspaceId, project } = spans[0]!;
      for (let attempt = 1; ; attempt++) {
        try {
          await ingest(workspaceId, project, spans);
          break;
        } catch (error) {
          if (attempt >= attempts || stopped) {
            drop(spans.length, errorMessage(error));
            break;
          }
          await delay(Math.min(5_000, 100 * 2 ** attempt), undefined, { ref: false });
        }
      }
    }
  }

  return {
    record(place, kind, span) {
      try {
        if (stopped || held >= maxSpans || queuedBytes >= maxBytes)
          return drop(1, stopped ? "stopped" : "the buffer is full");
        const queued = { ...place, ...serialize(kind, span) };
        queue.push(queued);
        held += 1;
        queuedBytes += queued.bytes;
        recorded += 1;
        schedule();
      } catch (error) {
        // What cannot be written as JSON cannot be traced; the run goes on.
        drop(1, errorMessage(error));
      }
    },
    flush,
    async stop() {
      await flush();
      stopped = true;
      clearTimeout(timer);
    },
    stats: () => ({ queued: held, queuedBytes, recorded, dropped }),
  };
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
