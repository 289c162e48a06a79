import type { SseFrame } from "../platform/http/server/sse.ts";
import { eventNameOf } from "../platform/streaming-protocol/event-name.ts";
import { type EventFilter, matchesFilter } from "../platform/streaming-protocol/subscription-filter.ts";
import type { DraftEvent } from "./protocol-event.ts";

export type EventLogLimits = { maxEvents: number; maxEventBytes: number };

type Entry = { seq: number; draft: DraftEvent; frame: SseFrame };

const batchSize = 200;

/**
 * The last events of one thread. Every reader has its own place in the log and takes what comes after it, so replay and
 * live delivery are one loop: live events cannot overtake the replay, and a reader that is slow costs no memory.
 */
export class EventLog {
  readonly #limits: EventLogLimits;
  /** Part of every event id: clients drop ids they have seen, and after a restart the numbers begin at 1 again. */
  readonly #origin: string;
  readonly #waiting = new Set<() => void>();
  #entries: Entry[] = [];
  #bytes = 0;
  #lastSeq = 0;
  #closed = false;

  constructor(limits: EventLogLimits, origin: string) {
    this.#limits = limits;
    this.#origin = origin;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  append(draft: DraftEvent): number {
    const seq = ++this.#lastSeq;
    this.#entries.push({ seq, draft, frame: this.#frame(seq, draft) });
    this.#bytes += this.#entries.at(-1)!.frame.data.length;
    while (this.#entries.length > this.#limits.maxEvents || this.#bytes > this.#limits.maxEventBytes) {
      // The newest event always stays, however large it is.
      if (this.#entries.length === 1) break;
      this.#bytes -= this.#entries.shift()!.frame.data.length;
    }
    this.#wake();
    return seq;
  }

  /** Forgets the events but not the numbers: for a thread that went on from an earlier point. */
  clear(): void {
    this.#entries = [];
    this.#bytes = 0;
  }

  /** Ends every reader. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  async *follow(filter: EventFilter, since: number, signal: AbortSignal): AsyncGenerator<SseFrame[]> {
    let place = since;
    while (!signal.aborted && !this.#closed) {
      const oldest = this.#entries[0]?.seq ?? this.#lastSeq + 1;
      const missed = place > 0 && place < oldest - 1;
      const batch = this.#entries.slice(Math.max(0, place + 1 - oldest)).slice(0, batchSize);
      const frames = batch
        .filter(({ draft }) => matchesFilter(seen(draft), filter))
        .map(({ frame }) => frame);
      if (missed) frames.unshift(this.#gapFrame(place, oldest - 1));
      place = batch.at(-1)?.seq ?? Math.max(place, oldest - 1);
      if (frames.length > 0) yield frames;
      else if (batch.length === 0) await this.#nextEvent(signal);
    }
  }

  #frame(seq: number, { method, params }: DraftEvent): SseFrame {
    const id = `${this.#origin}-${seq}`;
    return { id, event: method, data: JSON.stringify({ type: "event", event_id: id, seq, method, params }) };
  }

  /** Names the events that cannot be replayed any more; the thread's state still has its outcome. */
  #gapFrame(since: number, through: number): SseFrame {
    const payload = { since, dropped_through_seq: through };
    const data = { name: "replay.truncated", payload };
    return this.#frame(through, { method: "custom", params: { namespace: [], timestamp: Date.now(), data } });
  }

  #nextEvent(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}

function seen({ method, params }: DraftEvent) {
  return { name: eventNameOf(method, params.data), namespace: params.namespace };
}
