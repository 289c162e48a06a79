import { setTimeout as delay } from "node:timers/promises";
import { AppError } from "../../errors.ts";
import { isConnectionError, isContentionError } from "../database-errors.ts";
import { BatchGroups } from "./batch-groups.ts";
import { BatchQueue, type BatchQueueLimits, type BatchRequest } from "./batch-queue.ts";

/** A result of a row that was not written, because its group is busy elsewhere: it is flushed again, with its group alone. */
export const busyElsewhere = Symbol("busy elsewhere");

export type BatcherOptions<Row, Result> = Partial<BatchQueueLimits> & {
  /** For messages and metrics. */
  name: string;
  /**
   * Reads or writes all rows in one statement, or none, and returns one result per row in the same order:
   * a fenced statement returns which rows it let through. It may be called again with rows whose commit
   * was not confirmed, so writing a row twice must end as writing it once.
   */
  flush(rows: readonly Row[]): Promise<readonly (Result | typeof busyElsewhere)[]>;
  /** Rows of one key are merged while they wait, and never written by two lanes at once. */
  keyOf?(row: Row): string;
  /** Of two rows with one key; by default the newer one replaces the older. */
  merge?(older: Row, newer: Row): Row;
  bytesOf?(row: Row): number;
  /** Rows of one group are written by one lane at a time, and alone while they would keep others waiting. */
  groupOf?(row: Row): string;
  /** How long a flush may take before it is asked which of its groups is slow. */
  slowMs?: number;
  /** Flushes at once. With more than one, nothing may depend on the order of different keys. */
  lanes?: number;
  /** Errors of this batcher's own that pass when tried again, beside those of a database that is away. */
  mayPass?(error: unknown): boolean;
  /** How often a batch is tried again when the database was away or two transactions met. */
  retries?: number;
  firstRetryMs?: number;
  /** No further try after this time: somebody waits for the answer. */
  patienceMs?: number;
};

export type BatcherStats = {
  name: string;
  queuedRows: number;
  queuedBytes: number;
  heldRows: number;
  busyLanes: number;
  flushes: number;
  rowsWritten: number;
  rowsFailed: number;
  retries: number;
  largestFlush: number;
};

const defaultLanes = 2;
const defaultRetries = 5;
const maxRetryMs = 2_000;
const defaultSlowMs = 2_000;
/** For writes that work in progress depends on: about ten seconds of a database that is away. */
export const outageRetries = 9;

/**
 * Group commit without a timer: a free lane takes what has come by the next turn of the event loop;
 * while all are busy, rows collect. A flush timer was measured and only cost throughput.
 */
export class Batcher<Row, Result> {
  readonly #options: BatcherOptions<Row, Result>;
  readonly #groups: BatchGroups;
  readonly #queue: BatchQueue<Row, Result>;
  readonly #idleWaiters: (() => void)[] = [];
  #scheduled = false;
  #busyLanes = 0;
  #flushes = 0;
  #rowsWritten = 0;
  #rowsFailed = 0;
  #retries = 0;
  #largestFlush = 0;

  constructor(options: BatcherOptions<Row, Result>) {
    this.#options = options;
    const maxRows = options.maxRows ?? 1_000;
    const maxBytes = options.maxBytes ?? 4_000_000;
    this.#groups = new BatchGroups({
      slowMs: options.slowMs ?? defaultSlowMs,
      // One lane is always there for all others.
      maxAlone: Math.max(1, (options.lanes ?? defaultLanes) - 1),
    });
    this.#queue = new BatchQueue({
      maxRows,
      maxBytes,
      maxQueuedRows: options.maxQueuedRows ?? maxRows * 20,
      maxQueuedBytes: options.maxQueuedBytes ?? maxBytes * 20,
      keyOf: options.keyOf?.bind(options),
      merge: options.merge?.bind(options),
      bytesOf: options.bytesOf?.bind(options),
      groupOf: options.groupOf?.bind(options),
      groups: this.#groups,
    });
  }

  /** Settles after the commit, with the row's own result or its own failure. Waits while the queue is full. */
  add(row: Row): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ row, resolve, reject });
      this.#schedule();
    });
  }

  addMany(rows: readonly Row[]): Promise<Result[]> {
    return Promise.all(rows.map((row) => this.add(row)));
  }

  /** For producers that do not await their rows: resolves when the queue has room. */
  ready(): Promise<void> {
    return this.#queue.ready();
  }

  /** Resolves when every row added so far, and meanwhile, has settled. Failures belong to `add`. */
  async drain(): Promise<void> {
    if (this.#isIdle()) return;
    await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  stats(): BatcherStats {
    return {
      name: this.#options.name,
      queuedRows: this.#queue.rows,
      queuedBytes: this.#queue.bytes,
      heldRows: this.#queue.held,
      busyLanes: this.#busyLanes,
      flushes: this.#flushes,
      rowsWritten: this.#rowsWritten,
      rowsFailed: this.#rowsFailed,
      retries: this.#retries,
      largestFlush: this.#largestFlush,
    };
  }

  #schedule(): void {
    if (this.#scheduled || this.#busyLanes >= (this.#options.lanes ?? defaultLanes)) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#fillLanes();
    });
  }

  #fillLanes(): void {
    while (this.#busyLanes < (this.#options.lanes ?? defaultLanes)) {
      const batch = this.#queue.take();
      if (batch.length === 0) break;
      this.#busyLanes += 1;
      this.#largestFlush = Math.max(this.#largestFlush, batch.length);
      const begunAt = performance.now();
      void this.#flush(batch).then(() => {
        this.#queue.release(batch);
        this.#groups.ended(this.#queue.groupsOf(batch), performance.now() - begunAt);
        this.#busyLanes -= 1;
        if (this.#queue.rows > 0) this.#schedule();
        else if (this.#isIdle()) for (const resolve of this.#idleWaiters.splice(0)) resolve();
      });
    }
  }

  #isIdle(): boolean {
    return this.#busyLanes === 0 && this.#queue.rows === 0 && this.#queue.held === 0;
  }

  /** Never rejects: every request is settled one way or the other. */
  async #flush(batch: readonly BatchRequest<Row, Result>[]): Promise<void> {
    let results: readonly (Result | typeof busyElsewhere)[];
    try {
      results = await this.#flushPatiently(batch.map((request) => request.row));
    } catch (error) {
      // Splitting cannot cure a database that is away, or lets nobody in, and would ask it once per row.
      if (isTransient(error) || isRefused(error)) return this.#fail(batch, error);
      return this.#isolate(batch, error);
    }
    if (results.length !== batch.length) {
      const message = `The writer of "${this.#options.name}" answered ${results.length} results for ${batch.length} rows.`;
      return this.#fail(batch, new Error(message));
    }
    const left: BatchRequest<Row, Result>[] = [];
    for (const [index, request] of batch.entries()) {
      const result = results[index] as Result | typeof busyElsewhere;
      if (result === busyElsewhere) {
        left.push(request);
        continue;
      }
      this.#rowsWritten += 1;
      for (const waiter of request.parts) waiter.resolve(result);
    }
    if (left.length === 0) return;
    for (const group of this.#queue.groupsOf(left)) this.#groups.setAlone(group);
    this.#queue.putBack(left);
  }

  /** Halves the batch until the rows that cannot be written are isolated; the others are written. */
  async #isolate(batch: readonly BatchRequest<Row, Result>[], error: unknown): Promise<void> {
    if (batch.length > 1) {
      const middle = Math.ceil(batch.length / 2);
      await this.#flush(batch.slice(0, middle));
      await this.#flush(batch.slice(middle));
      return;
    }
    const [request] = batch;
    if (request === undefined) return;
    if (request.parts.length === 1) return this.#fail(batch, error);
    // One of the merged rows may be the bad one; each is written separately, oldest first.
    for (const part of request.parts)
      await this.#flush([{ key: request.key, row: part.row, bytes: 0, parts: [part] }]);
  }

  #fail(batch: readonly BatchRequest<Row, Result>[], error: unknown): void {
    for (const request of batch) {
      this.#rowsFailed += 1;
      for (const waiter of request.parts) waiter.reject(error);
    }
  }

  async #flushPatiently(rows: readonly Row[]): Promise<readonly (Result | typeof busyElsewhere)[]> {
    const { retries = defaultRetries, firstRetryMs = 50, patienceMs } = this.#options;
    const begunAt = performance.now();
    for (let attempt = 0; ; attempt++) {
      try {
        this.#flushes += 1;
        return await this.#options.flush(rows);
      } catch (error) {
        const passing = isTransient(error) || this.#options.mayPass?.(error) === true;
        const isLate = patienceMs !== undefined && performance.now() - begunAt >= patienceMs;
        if (attempt >= retries || !passing || isLate) throw error;
        this.#retries += 1;
        await delay(Math.min(maxRetryMs, firstRetryMs * 2 ** attempt));
      }
    }
  }
}

function isTransient(error: unknown): boolean {
  return (
    (error instanceof AppError && error.retryable) || isConnectionError(error) || isContentionError(error)
  );
}

function isRefused(error: unknown): boolean {
  return error instanceof AppError && error.code === "database.refused";
}
