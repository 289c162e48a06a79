import { Readable } from "node:stream";
import type { ClickHouseClient } from "@clickhouse/client";
import { describeClickHouse, mapClickHouseError, noAnswer } from "./clickhouse-errors.ts";
import { resultBytes } from "./result-bytes.ts";

export type QueryOptions = {
  /** Bound by the server: `{name: Type}` in the text. */
  params?: Record<string, unknown>;
  settings?: Record<string, string | number>;
  /** Ends the wait, and the query at the server with it. */
  signal?: AbortSignal;
  /** The same after this time, with `database.unavailable`. */
  limitMs?: number;
  /** Under which the server lists it among its processes. */
  queryId?: string;
};

/** In the format RowBinary, see `row-binary-writer.ts`. */
export type BinaryRows = { columns: readonly string[]; chunks: readonly Buffer[] };

export type BytesOptions = Omit<QueryOptions, "params"> & { patienceSeconds: number };

export type ClickHouseOptions = {
  url: string;
  requestTimeoutMs?: number;
  /** Called before each statement, which is not sent while this fails: what it needs may not be there yet. */
  before?: () => Promise<void>;
  /** Of results and what is inserted; costs more than it saves where all of a table is read. */
  compressed?: boolean;
};

/** Statements on one ClickHouse database. Its failures are those of `clickhouse-errors.ts`. */
export class ClickHouse {
  readonly where: string;
  readonly #client: ClickHouseClient;
  readonly #before: (() => Promise<void>) | undefined;
  readonly #errorOf: (message: string) => Error;

  private constructor(
    client: ClickHouseClient,
    { url, before }: ClickHouseOptions,
    errorOf: (message: string) => Error,
  ) {
    this.#client = client;
    this.#before = before;
    this.#errorOf = errorOf;
    this.where = describeClickHouse(url);
  }

  /** Connects with the first statement. The client is loaded here: where no ClickHouse is used it costs nothing. */
  static async open(options: ClickHouseOptions): Promise<ClickHouse> {
    const { url, requestTimeoutMs = 60_000, compressed = true } = options;
    const { ClickHouseLogLevel, createClient, parseError } = await import("@clickhouse/client");
    const client = createClient({
      url,
      application: "treadle",
      request_timeout: requestTimeoutMs,
      // With the client's ten, a few slow readers would keep all writers waiting. How many it takes is the server's to say.
      max_open_connections: 100,
      // Of the codecs that server and client share it costs least by far; more than its first level gains nothing here.
      ...(compressed && {
        compression: { request: { codec: "zstd", level: 1 }, response: { codec: "zstd" } },
      }),
      // Servers and what stands before them refuse a long URL.
      use_multipart_params_auto: true,
      // What it would log is thrown, too.
      log: { level: ClickHouseLogLevel.OFF },
      clickhouse_settings: {
        // A reader that hangs up ends its query.
        cancel_http_readonly_queries_on_client_close: 1,
        // A failure after the first rows must not look like the end of the result.
        wait_end_of_query: 1,
        date_time_input_format: "best_effort",
        output_format_json_quote_64bit_integers: 0,
        // Answers by the index of words alone fail at a null among rows that are not indexed yet.
        query_plan_direct_read_from_text_index: 0,
      },
    });
    return new ClickHouse(client, options, parseError);
  }

  async rows<Row>(query: string, options: QueryOptions = {}): Promise<Row[]> {
    const late = options.limitMs === undefined ? undefined : AbortSignal.timeout(options.limitMs);
    const signals = [options.signal, late].filter((each) => each !== undefined);
    const signal = signals.length > 0 ? AbortSignal.any(signals) : undefined;
    try {
      return await this.#rows(query, { ...options, ...(signal && { signal }) });
    } catch (error) {
      if (late && error === late.reason) throw noAnswer(this.where, error);
      throw error;
    }
  }

  async #rows<Row>(query: string, options: QueryOptions): Promise<Row[]> {
    return await this.#mapped(options.signal, async () => {
      const found = await this.#client.query({
        query,
        format: "JSONEachRow",
        // Only of a statement that changes nothing does the server notice that its reader hung up.
        clickhouse_settings: { readonly: "2", ...options.settings },
        ...(options.params && { query_params: options.params }),
        ...(options.signal && { abort_signal: options.signal }),
      });
      return await found.json<Row>();
    });
  }

  /**
   * The result as bytes, in the format the query names, as they come. A reader that takes its time makes the server wait,
   * for `patienceSeconds` at a time.
   */
  async *bytes(query: string, options: BytesOptions): AsyncGenerator<Buffer> {
    const { signal, settings, patienceSeconds } = options;
    await this.#before?.();
    try {
      const { stream, response_headers } = await this.#client.exec({
        query,
        clickhouse_settings: {
          readonly: "2",
          wait_end_of_query: 0,
          http_send_timeout: patienceSeconds,
          ...settings,
        },
        ...(signal && { abort_signal: signal }),
      });
      const tag = response_headers["x-clickhouse-exception-tag"];
      yield* resultBytes(stream, typeof tag === "string" ? tag : undefined, this.#errorOf);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      throw mapClickHouseError(error, this.where);
    }
  }

  /** A statement without a result. */
  async run(query: string, options: QueryOptions = {}): Promise<void> {
    await this.runCounted(query, options);
  }

  /** The same; answers how many rows it wrote. */
  async runCounted(query: string, options: QueryOptions = {}): Promise<number> {
    const { summary } = await this.#mapped(options.signal, () =>
      this.#client.command({
        query,
        ...(options.params && { query_params: options.params }),
        ...(options.settings && { clickhouse_settings: options.settings }),
        ...(options.queryId && { query_id: options.queryId }),
        ...(options.signal && { abort_signal: options.signal }),
      }),
    );
    return Number(summary?.written_rows ?? 0);
  }

  /** Stored when it resolves. */
  async insert(
    table: string,
    values: readonly object[],
    options: Omit<QueryOptions, "params"> = {},
  ): Promise<void> {
    if (values.length === 0) return;
    await this.#mapped(options.signal, () =>
      this.#client.insert({
        table,
        values,
        format: "JSONEachRow",
        // Whatever the server or the user's profile says: acknowledged is stored.
        clickhouse_settings: { ...options.settings, async_insert: 0 },
        ...(options.queryId && { query_id: options.queryId }),
        ...(options.signal && { abort_signal: options.signal }),
      }),
    );
  }

  /** The same, for what is inserted often or in bulk. */
  async insertBinary(
    table: string,
    { columns, chunks }: BinaryRows,
    options: Omit<QueryOptions, "params"> = {},
  ): Promise<void> {
    await this.#mapped(options.signal, async () => {
      const { stream } = await this.#client.exec({
        query: `insert into ${table} (${columns.join(", ")}) format RowBinary`,
        values: Readable.from(chunks, { objectMode: false }),
        clickhouse_settings: { ...options.settings, async_insert: 0 },
        ...(options.queryId && { query_id: options.queryId }),
        ...(options.signal && { abort_signal: options.signal }),
      });
      // Until it is read to its end the connection is not free.
      for await (const _ of stream);
    });
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #mapped<Value>(signal: AbortSignal | undefined, work: () => Promise<Value>): Promise<Value> {
    await this.#before?.();
    try {
      return await work();
    } catch (error) {
      // The client's error for it looks like any other of the connection.
      if (signal?.aborted) throw signal.reason;
      throw mapClickHouseError(error, this.where);
    }
  }
}
