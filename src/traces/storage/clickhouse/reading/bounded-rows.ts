import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import { clickHouseCode } from "../../../../platform/clickhouse/clickhouse-errors.ts";
import { tooSlow } from "../../bounded-read.ts";
import { queryTooLarge } from "../filter/query-too-large.ts";

const timeoutCode = "159";
/** Too much memory, too many rows, too many bytes, or too many of either. */
const tooLargeResultCode = "396";
const tooMuchCodes = new Set(["241", "158", "307", tooLargeResultCode]);
/** Too deep or too large when it was read, or too deep when it was planned. */
const tooLargeCodes = new Set(["167", "168", "306"]);

/** A server takes fields of up to 128 KiB, and a statement is one where its values are sent beside it. */
const maxStatementBytes = 128 * 1024;
const maxMemoryBytes = 4 * 1024 ** 3;

/** Reads that may look at very many runs, and are ended when they take too long or too much memory. */
export class BoundedRows {
  readonly #clickHouse: ClickHouse;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;

  constructor(clickHouse: ClickHouse, timeoutMs: number, maxBytes = maxMemoryBytes) {
    this.#clickHouse = clickHouse;
    this.#timeoutMs = timeoutMs;
    this.#maxBytes = maxBytes;
  }

  async read<Row>(query: string, params: Record<string, unknown>): Promise<Row[]> {
    return await this.#read(query, params, {});
  }

  /** The same; undefined when the result is larger, and then not all of it was read. */
  async readWithin<Row>(
    maxResultBytes: number,
    query: string,
    params: Record<string, unknown>,
  ): Promise<Row[] | undefined> {
    try {
      return await this.#read<Row>(query, params, {
        max_result_bytes: maxResultBytes,
        result_overflow_mode: "throw",
      });
    } catch (error) {
      if (error instanceof Error && clickHouseCode(error.cause) === tooLargeResultCode) return undefined;
      throw error;
    }
  }

  async #read<Row>(
    query: string,
    params: Record<string, unknown>,
    more: Record<string, string | number>,
  ): Promise<Row[]> {
    if (Buffer.byteLength(query) > maxStatementBytes) throw queryTooLarge();
    try {
      const settings = {
        max_execution_time: this.#timeoutMs / 1000,
        max_memory_usage: this.#maxBytes,
        // Results may be named like the columns that conditions are about.
        prefer_column_name_to_alias: 1,
        // All rows of a run have its start, so they are in one partition.
        do_not_merge_across_partitions_select_final: 1,
        ...more,
      };
      return await this.#clickHouse.rows<Row>(query, { params, settings });
    } catch (error) {
      const code = clickHouseCode(error) ?? "";
      if (code === timeoutCode) throw tooSlow(this.#timeoutMs, error);
      if (tooMuchCodes.has(code)) throw tooSlow(null, error);
      if (tooLargeCodes.has(code)) throw queryTooLarge(error);
      throw error;
    }
  }
}
