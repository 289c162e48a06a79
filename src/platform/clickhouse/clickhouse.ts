import type { ClickHouseClient } from "@clickhouse/client";
import { describeClickHouse, mapClickHouseError } from "./clickhouse-errors.ts";

export type QueryOptions = {
  /** Bound by the server: `{name: Type}` in the text. */
  params?: Record<string, unknown>;
  settings?: Record<string, string | number>;
  /** Ends the wait, and the query at the server with it. */
  signal?: AbortSignal;
};

export type ClickHouseOptions = { url: string; requestTimeoutMs?: number };

/** Statements on one ClickHouse database. Its failures are those of `clickhouse-errors.ts`. */
export class ClickHouse {
  readonly where: string;
  readonly #client: ClickHouseClient;

  private constructor(client: ClickHouseClient, where: string) {
    this.#client = client;
    this.where = where;
  }

  /** Connects with the first statement. The client is loaded here: where no ClickHouse is used it costs nothing. */
  static async open({ url, requestTimeoutMs = 60_000 }: ClickHouseOptions): Promise<ClickHouse> {
    const { ClickHouseLogLevel, createClient } = await import("@clickhouse/client");
    const client = createClient({
      url,
      application: "treadle",
      request_timeout: requestTimeoutMs,
      compression: { request: true, response: true },
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
      },
    });
    return new ClickHouse(client, describeClickHouse(url));
  }

  async rows<Row>(query: string, options: QueryOptions = {}): Promise<Row[]> {
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

  /** A statement without a result. */
  async run(query: string, options: QueryOptions = {}): Promise<void> {
    await this.#mapped(options.signal, () =>
      this.#client.command({
        query,
        ...(options.params && { query_params: options.params }),
        ...(options.settings && { clickhouse_settings: options.settings }),
        ...(options.signal && { abort_signal: options.signal }),
      }),
    );
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
        ...(options.signal && { abort_signal: options.signal }),
      }),
    );
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #mapped<Value>(signal: AbortSignal | undefined, work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      // The client's error for it looks like any other of the connection.
      if (signal?.aborted) throw signal.reason;
      throw mapClickHouseError(error, this.where);
    }
  }
}
