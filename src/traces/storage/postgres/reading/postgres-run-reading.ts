import type { Database } from "../../../../platform/db/database.ts";
import type { BoundedRead } from "../../bounded-read.ts";
import { listSeenFeedbackKeys } from "../../feedback-row-store.ts";
import type { Page, RunField, RunQuery, WantedIds } from "../../run-query.ts";
import type { RunReading } from "../../run-storage.ts";
import { findTraceRuns } from "./run-finder-store.ts";
import { findRunPayloads } from "./run-payload-store.ts";
import { findProjectOfRun } from "./run-project-store.ts";
import { findRuns, findTrace } from "./run-query-store.ts";
import { listRecentRuns } from "./seen-values-store.ts";

export class PostgresRunReading implements RunReading {
  readonly #database: Database;
  readonly #read: BoundedRead;

  constructor(options: { database: Database; read: BoundedRead }) {
    this.#database = options.database;
    this.#read = options.read;
  }

  find(query: RunQuery, page: Page, fields: ReadonlySet<RunField>) {
    return this.#read((sql) => findRuns(sql, query, page, fields));
  }

  findTrace(query: RunQuery & { traceId: string }, limit: number, fields: ReadonlySet<RunField>) {
    return this.#read((sql) => findTrace(sql, query, limit, fields));
  }

  seen(place: { workspaceId: string; projectId: string }) {
    return this.#read(async (sql) => ({
      runs: await listRecentRuns(sql, place),
      feedbackKeys: await listSeenFeedbackKeys(sql, place),
    }));
  }

  payloadsOf(workspaceId: string, ids: readonly string[]) {
    return findRunPayloads(this.#database.sql, workspaceId, ids);
  }

  projectOf(workspaceId: string, runId: string) {
    return findProjectOfRun(this.#database.sql, workspaceId, runId);
  }

  findByIds(wanted: WantedIds) {
    return findTraceRuns(this.#database.sql, wanted);
  }
}
