import type { Database, Sql } from "../../platform/db/database.ts";
import { sqlState } from "../../platform/db/database-errors.ts";
import { raw } from "../../platform/db/raw.ts";
import { AppError } from "../../platform/errors.ts";

/** Runs statements that may look at very many runs, and ends them when they take too long. */
export type BoundedRead = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;

const cancelled = "57014";

export function createBoundedRead(database: Database, timeoutMs: number): BoundedRead {
  return async (work) => {
    try {
      return await database.transaction(async (tx) => {
        await raw`select set_config('statement_timeout', ${String(timeoutMs)}, true)`.execute(tx);
        return work(tx);
      });
    } catch (error) {
      // Not "unavailable": clients would repeat the same query, which would fail again.
      if (sqlState(error) === cancelled) throw tooSlow(timeoutMs, error);
      throw error;
    }
  };
}

/** What a reader is told whose query took longer than it may, or more than the database gives to one. */
export function tooSlow(timeoutMs: number | null, cause: unknown): AppError {
  const after = timeoutMs === null ? "" : ` after ${timeoutMs / 1000} s`;
  return new AppError({
    code: "traces.query_timeout",
    kind: "unprocessable",
    message: `The query read too many runs and was stopped${after}. Narrow it: name a project, set start_time and end_time, or add a filter on name, status, run_type, tags or metadata in addition to the search.`,
    cause,
  });
}
