import { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import type { RowReader, RowSink } from "../../../../platform/db/copy/row-reader.ts";
import type { FeedbackField } from "../../exported-fields.ts";
import { FeedbackOfRuns } from "./feedback-of-runs.ts";
import { RowBinary, type RowField } from "./row-binary.ts";

type ReadRuns = {
  url: string;
  /** In the format RowBinary, with the fields in order but those of feedback. */
  select: string;
  fields: readonly RowField[];
  workspaceId: string;
  /** Where feedback is. */
  databaseUrl: string;
  feedback: readonly FeedbackField[];
};

/** What is converted at once, and what feedback is looked up for. */
const batchBytes = 1024 * 1024;
/** A file may wait for its storage for a minute, several times. */
const patienceSeconds = 600;
const settings = { max_execution_time: 0, max_query_size: 16 * 1024 ** 2, prefer_column_name_to_alias: 1 };

export function rowReader(given: ReadRuns): RowReader {
  return { module: import.meta.url, given };
}

/** For the thread that writes the rows. */
export async function readRows(given: ReadRuns, sink: RowSink): Promise<number> {
  const { url, databaseUrl, workspaceId } = given;
  const clickHouse = await ClickHouse.open({
    url,
    requestTimeoutMs: patienceSeconds * 1_000,
    compressed: false,
  });
  const feedback =
    given.feedback.length > 0 ? FeedbackOfRuns.open(databaseUrl, workspaceId, given.feedback) : undefined;
  // Ended with the loop below, also where that ends early: the server stops with its reader.
  const reading = new AbortController();
  const signal = AbortSignal.any([sink.signal, reading.signal]);
  try {
    const rows = new ConvertedRows(given.fields, sink, feedback);
    for await (const bytes of clickHouse.bytes(given.select, { signal, settings, patienceSeconds }))
      await rows.add(bytes);
    return await rows.finish();
  } finally {
    reading.abort(new Error("Nothing more is read."));
    await clickHouse.close();
    await feedback?.close();
  }
}

/** Collects bytes until there are enough rows to hand on together. */
class ConvertedRows {
  readonly #rowBinary: RowBinary;
  readonly #sink: RowSink;
  readonly #feedback: FeedbackOfRuns | undefined;
  readonly #flow = new Flow();
  #pieces: Buffer[] = [];
  #bytes = 0;
  #rows = 0;

  constructor(fields: readonly RowField[], sink: RowSink, feedback: FeedbackOfRuns | undefined) {
    this.#rowBinary = new RowBinary(fields);
    this.#sink = sink;
    this.#feedback = feedback;
    sink.onStart?.(this.#flow);
  }

  async add(bytes: Buffer): Promise<void> {
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes >= batchBytes) await this.#convert();
  }

  async finish(): Promise<number> {
    await this.#convert();
    if (this.#bytes > 0) throw new Error("The rows of ClickHouse end in the middle of one.");
    return this.#rows;
  }

  async #convert(): Promise<void> {
    const source = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
    const starts: number[] = [];
    let end = 0;
    for (let next = 0; next < source.length; end = next) {
      next = this.#rowBinary.endOf(source, end, source.length);
      if (next === -1) break;
      starts.push(end);
    }
    await this.#handOn(source, starts);
    this.#pieces = end < source.length ? [source.subarray(end)] : [];
    this.#bytes = source.length - end;
  }

  async #handOn(source: Buffer, starts: readonly number[]): Promise<void> {
    const ids = this.#feedback ? starts.map((start) => this.#rowBinary.idOf(source, start)) : [];
    const found = ids.length > 0 ? await this.#feedback?.find(ids) : undefined;
    const ofOthers = this.#feedback?.ofOthers ?? [];
    for (const [index, start] of starts.entries()) {
      const row = this.#rowBinary.convert(source, start, found?.get(ids[index]!) ?? ofOthers);
      this.#sink.onRow(row, 0, row.length);
    }
    this.#rows += starts.length;
    await this.#flow.whenOpen(this.#sink.signal);
  }
}

/** Whether the writer takes more. */
class Flow {
  #closed: PromiseWithResolvers<void> | undefined;

  pause(): void {
    this.#closed ??= Promise.withResolvers<void>();
  }

  resume(): void {
    this.#closed?.resolve();
    this.#closed = undefined;
  }

  async whenOpen(signal: AbortSignal): Promise<void> {
    while (this.#closed !== undefined) await orAborted(this.#closed.promise, signal);
    signal.throwIfAborted();
  }
}

async function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<void>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
