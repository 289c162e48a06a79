import type { BatchGroups } from "./batch-groups.ts";

export type BatchQueueLimits = {
  /** Per flush. */
  maxRows: number;
  maxBytes: number;
  /** Beyond these, rows are held back until a flush has made room. */
  maxQueuedRows: number;
  maxQueuedBytes: number;
};

export type BatchPart<Row, Result> = {
  row: Row;
  resolve(result: Result): void;
  reject(error: unknown): void;
};

/** One row to write, and everyone who waits for it. */
export type BatchRequest<Row, Result> = {
  key: string | undefined;
  row: Row;
  bytes: number;
  parts: BatchPart<Row, Result>[];
};

type BatchQueueOptions<Row> = BatchQueueLimits & {
  keyOf: ((row: Row) => string) | undefined;
  merge: ((older: Row, newer: Row) => Row) | undefined;
  bytesOf: ((row: Row) => number) | undefined;
  groupOf: ((row: Row) => string) | undefined;
  groups: BatchGroups;
};

/** The rows a batcher has not begun to write, in order, one per key. */
export class BatchQueue<Row, Result> {
  readonly #options: BatchQueueOptions<Row>;
  readonly #byKey = new Map<string, BatchRequest<Row, Result>>();
  readonly #keysInFlight = new Set<string>();
  /** How many rows of each group wait. */
  readonly #waiting = new Map<string, number>();
  readonly #readyWaiters: (() => void)[] = [];
  #requests: BatchRequest<Row, Result>[] = [];
  #held: BatchPart<Row, Result>[] = [];
  #bytes = 0;

  constructor(options: BatchQueueOptions<Row>) {
    this.#options = options;
  }

  get rows(): number {
    return this.#requests.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get held(): number {
    return this.#held.length;
  }

  push(part: BatchPart<Row, Result>): void {
    // Behind those already held, or a row could overtake an older one of its key.
    if (this.#held.length > 0 || !this.#hasRoom()) this.#held.push(part);
    else this.#enqueue(part);
  }

  ready(): Promise<void> {
    if (this.#held.length === 0 && this.#hasRoom()) return Promise.resolve();
    return new Promise((resolve) => this.#readyWaiters.push(resolve));
  }

  /** The next rows to flush, within both bounds; a row larger than the bound goes alone. */
  take(): BatchRequest<Row, Result>[] {
    const { maxRows, maxBytes, groupOf, groups } = this.#options;
    const batch: BatchRequest<Row, Result>[] = [];
    if (groupOf && !groups.hasFree(this.#waiting.keys())) return batch;
    const mayTake = groups.begin();
    const kept: BatchRequest<Row, Result>[] = [];
    let bytes = 0;
    let index = 0;
    for (; index < this.#requests.length && batch.length < maxRows; index++) {
      const request = this.#requests[index] as BatchRequest<Row, Result>;
      if (request.key !== undefined && this.#keysInFlight.has(request.key)) {
        kept.push(request);
        continue;
      }
      if (batch.length > 0 && bytes + request.bytes > maxBytes) break;
      if (groupOf && !mayTake(groupOf(request.row))) {
        kept.push(request);
        continue;
      }
      bytes += request.bytes;
      batch.push(request);
    }
    this.#requests = index === this.#requests.length ? kept : [...kept, ...this.#requests.slice(index)];
    this.#bytes -= bytes;
    for (const { key } of batch) {
      if (key === undefined) continue;
      this.#byKey.delete(key);
      this.#keysInFlight.add(key);
    }
    if (groupOf) for (const { row } of batch) this.#count(groupOf(row), -1);
    groups.taken(this.groupsOf(batch));
    if (batch.length > 0) this.#admit();
    return batch;
  }

  /** The batch is settled: later rows of its keys may be written now. */
  release(batch: readonly BatchRequest<Row, Result>[]): void {
    for (const { key } of batch) if (key !== undefined) this.#keysInFlight.delete(key);
  }

  groupsOf(batch: readonly BatchRequest<Row, Result>[]): Set<string> {
    const { groupOf } = this.#options;
    return new Set(groupOf ? batch.map(({ row }) => groupOf(row)) : []);
  }

  /** For rows that were taken and could not be written yet: before all others, and before newer ones of their key. */
  putBack(requests: readonly BatchRequest<Row, Result>[]): void {
    const { merge, bytesOf, groupOf } = this.#options;
    const fresh: BatchRequest<Row, Result>[] = [];
    for (const request of requests) {
      const newer = request.key === undefined ? undefined : this.#byKey.get(request.key);
      if (newer) {
        newer.row = merge ? merge(request.row, newer.row) : newer.row;
        newer.parts.unshift(...request.parts);
        this.#bytes -= newer.bytes;
        newer.bytes = bytesOf?.(newer.row) ?? 0;
        this.#bytes += newer.bytes;
        continue;
      }
      const again = { ...request, bytes: bytesOf?.(request.row) ?? 0 };
      fresh.push(again);
      this.#bytes += again.bytes;
      if (again.key !== undefined) this.#byKey.set(again.key, again);
      if (groupOf) this.#count(groupOf(again.row), 1);
    }
    this.#requests = [...fresh, ...this.#requests];
  }

  #count(group: string, change: number): void {
    const count = (this.#waiting.get(group) ?? 0) + change;
    if (count > 0) this.#waiting.set(group, count);
    else this.#waiting.delete(group);
  }

  #hasRoom(): boolean {
    return this.#requests.length < this.#options.maxQueuedRows && this.#bytes < this.#options.maxQueuedBytes;
  }

  #admit(): void {
    let admitted = 0;
    while (admitted < this.#held.length && this.#hasRoom()) {
      this.#enqueue(this.#held[admitted] as BatchPart<Row, Result>);
      admitted += 1;
    }
    if (admitted > 0) this.#held = this.#held.slice(admitted);
    if (this.#held.length === 0 && this.#hasRoom())
      for (const resolve of this.#readyWaiters.splice(0)) resolve();
  }

  #enqueue(part: BatchPart<Row, Result>): void {
    const { keyOf, merge, bytesOf } = this.#options;
    const key = keyOf?.(part.row);
    const waiting = key === undefined ? undefined : this.#byKey.get(key);
    if (waiting === undefined) {
      const request = { key, row: part.row, bytes: bytesOf?.(part.row) ?? 0, parts: [part] };
      this.#requests.push(request);
      this.#bytes += request.bytes;
      if (this.#options.groupOf) this.#count(this.#options.groupOf(part.row), 1);
      if (key !== undefined) this.#byKey.set(key, request);
      return;
    }
    waiting.row = merge === undefined ? part.row : merge(waiting.row, part.row);
    waiting.parts.push(part);
    const bytes = bytesOf?.(waiting.row) ?? 0;
    this.#bytes += bytes - waiting.bytes;
    waiting.bytes = bytes;
  }
}
