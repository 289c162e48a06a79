import type { Database } from "../../../../platform/db/database.ts";
import { listLiveProjects } from "../../live-projects-store.ts";
import type { RunQuery } from "../../run-query.ts";
import { Values } from "../filter/condition.ts";
import type { BoundedRows } from "./bounded-rows.ts";
import { runConditions } from "./run-conditions.ts";

/** Statements on the runs that a query finds. */
export class QueriedRuns {
  readonly #rows: BoundedRows;
  readonly #database: Database;

  constructor(options: { rows: BoundedRows; database: Database }) {
    this.#rows = options.rows;
    this.#database = options.database;
  }

  /** `text` gets what comes after `from`, to which conditions may be added. Without projects there is nothing to ask. */
  async ask<Row>(query: RunQuery, text: (runs: string, values: Values) => string): Promise<Row[]> {
    const projectIds = await listLiveProjects(this.#database.sql, query);
    if (projectIds.length === 0) return [];
    const values = new Values();
    const runs = `trace_runs final where ${runConditions(query, projectIds, values)}`;
    return await this.#rows.read<Row>(text(runs, values), values.params);
  }
}
