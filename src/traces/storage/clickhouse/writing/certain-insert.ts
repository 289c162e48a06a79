import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { BinaryRows, ClickHouse } from "../../../../platform/clickhouse/clickhouse.ts";
import { noAnswer } from "../../../../platform/clickhouse/clickhouse-errors.ts";
import { AppError } from "../../../../platform/errors.ts";
import type { Logger } from "../../../../platform/logger.ts";

const attempts = 2;
const defaultLimitMs = 20_000;
const lookAgainMs = 100;
const answerMs = 5_000;

export type CertainInsertOptions = { clickHouse: ClickHouse; logger: Logger; limitMs?: number };

/**
 * Inserts of which nothing is under way any more when they end, however they end: whoever holds the lock of a workspace must not let
 * it go while a row of theirs may still come. An insert whose answer was lost is ended, then sent again under the same token: if it
 * was stored after all, that adds nothing.
 */
export class CertainInsert {
  readonly #clickHouse: ClickHouse;
  readonly #logger: Logger;
  readonly #limitMs: number;

  constructor(options: CertainInsertOptions) {
    this.#clickHouse = options.clickHouse;
    this.#logger = options.logger;
    this.#limitMs = options.limitMs ?? defaultLimitMs;
  }

  async insert(
    table: string,
    rows: BinaryRows,
    settings: Record<string, string | number> = {},
  ): Promise<void> {
    const token = randomUUID();
    await this.#certainly((query) =>
      this.#clickHouse.insertBinary(table, rows, {
        ...query,
        settings: {
          ...settings,
          insert_deduplicate: 1,
          insert_deduplication_token: token,
          max_execution_time: this.#limitMs / 1000,
        },
      }),
    );
  }

  /** For an insert of what is selected; it must be one that may be repeated. */
  async run(
    query: string,
    params: Record<string, unknown>,
    settings: Record<string, string | number>,
  ): Promise<void> {
    await this.#certainly((sent) =>
      this.#clickHouse.run(query, {
        ...sent,
        params,
        settings: { ...settings, max_execution_time: this.#limitMs / 1000 },
      }),
    );
  }

  async #certainly(send: (query: { queryId: string; signal: AbortSignal }) => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const queryId = randomUUID();
      // The server's own limit comes first, if it answers.
      const signal = AbortSignal.timeout(this.#limitMs + answerMs);
      try {
        return await send({ queryId, signal });
      } catch (error) {
        if (!signal.aborted && !isWithoutAnswer(error)) throw error;
        this.#logger.warn({ err: error, queryId }, "the answer of ClickHouse to an insert was lost");
        const hasEnded = await this.#end(queryId);
        if (attempt >= attempts || !hasEnded)
          throw signal.aborted ? noAnswer(this.#clickHouse.where, error) : error;
      }
    }
  }

  /** False when the server did not say so: then its own time limit has passed. */
  async #end(queryId: string): Promise<boolean> {
    const signal = AbortSignal.timeout(this.#limitMs);
    const options = { params: { q: queryId }, signal };
    while (!signal.aborted) {
      try {
        const running = await this.#clickHouse.rows(
          "select query_id from system.processes where query_id = {q: String}",
          options,
        );
        if (running.length === 0) return true;
        await this.#clickHouse.run("kill query where query_id = {q: String} async", options);
      } catch (error) {
        this.#logger.debug({ err: error, queryId }, "ClickHouse does not say whether an insert has ended");
      }
      await delay(lookAgainMs);
    }
    return false;
  }
}

function isWithoutAnswer(error: unknown): boolean {
  return error instanceof AppError && error.code === "database.unavailable";
}
