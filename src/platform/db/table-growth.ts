import { errorMessage } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Sql } from "./database.ts";
import { raw } from "./raw.ts";

export type TableGrowthOptions = {
  sql: Sql;
  logger: Logger;
  tables: readonly string[];
};

const firstStep = 500;
const factor = 8;
const lastStep = 30_000;

/**
 * PostgreSQL keeps the plan of a prepared statement until it notices that a table has changed, and it looks once a
 * minute. By then a new server has written tens of thousands of rows, with plans made for empty tables, which read all
 * rows each time. So tables that grow together are analyzed at their first growth; after that autovacuum does it.
 */
export class TableGrowth {
  readonly #options: TableGrowthOptions;
  #rows = 0;
  #next = firstStep;

  constructor(options: TableGrowthOptions) {
    this.#options = options;
  }

  /** Call it for rows that are committed. */
  note(rows = 1): void {
    this.#rows += rows;
    if (this.#rows < this.#next) return;
    this.#next = this.#rows < lastStep ? this.#rows * factor : Number.POSITIVE_INFINITY;
    void this.#analyze();
  }

  /**
   * Only tables that PostgreSQL takes for smaller than what was just written. One that is being analyzed is skipped, and
   * so is an empty one: as long as it was never analyzed it is planned for as ten pages, and afterwards as none, of which
   * reading all would seem to cost nothing.
   */
  async #analyze(): Promise<void> {
    const { sql, logger, tables } = this.#options;
    try {
      const { rows } = await raw<{ name: string }>`select relname as name from pg_class
        where oid = any(${tables}::text[]::regclass[]) and reltuples < ${this.#rows}
          and pg_relation_size(oid) > 0`.execute(sql);
      if (rows.length === 0) return;
      const names = rows.map(({ name }) => raw.ref(name));
      await raw`analyze (skip_locked) ${raw.join(names)}`.execute(sql);
    } catch (error) {
      logger.warn({ reason: errorMessage(error) }, "the tables that have grown could not be analyzed");
    }
  }
}
