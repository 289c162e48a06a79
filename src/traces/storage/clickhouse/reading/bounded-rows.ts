import type { ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import { clickHouseCode } from "../../../../platform/clickhouse/clickhouse-errors.ts";
import { tooSlow } from "../../bounded-read.ts";

const timeoutCode = "159";

/** Reads that may look at very many runs, and are ended when they take too long. */
export class BoundedRows {
  readonly #clickHouse: ClickHouse;
  readonly #timeoutMs: number;

  constructor(clickHouse: ClickHouse, timeoutMs: number) {
    this.#clickHouse = clickHouse;
    this.#timeoutMs = timeoutMs;
  }

  async read<Row>(query: string, params: Record<string, unknown>): Promise<Row[]> {
    try {
      // Results may be named like the columns that conditions are about.
      const settings = { max_execution_time: this.#timeoutMs / 1000, prefer_column_name_to_alias: 1 };
      return await this.#clickHouse.rows<Row>(query, { params, settings });
    } catch (error) {
      if (clickHouseCode(error) === timeoutCode) throw tooSlow(this.#timeoutMs, error);
      throw error;
    }
  }
}
