import type { Database } from "../../../../platform/db/database.ts";
import type { BoundedRead } from "../../bounded-read.ts";
import type { RunQuery } from "../../run-query.ts";
import type { Bucket, ThreadPage, Window } from "../../run-stats.ts";
import type { RunStatistics } from "../../run-storage.ts";
import { listOutcomes, listScores } from "./example-score-store.ts";
import { readLastStarts, readProjectStats } from "./project-stats-store.ts";
import { hasRuns, readRunFigures } from "./run-figures-store.ts";
import { sumFeedback, sumRuns, sumRunsByTime } from "./run-stats-store.ts";
import { countThreads, listThreads, sumThread, sumThreadFeedback } from "./thread-store.ts";
import { readTracesMark } from "./trace-mark-store.ts";

export class PostgresRunStatistics implements RunStatistics {
  readonly #database: Database;
  readonly #read: BoundedRead;

  constructor(options: { database: Database; read: BoundedRead }) {
    this.#database = options.database;
    this.#read = options.read;
  }

  sum(query: RunQuery) {
    return this.#read((sql) => sumRuns(sql, query));
  }

  sumByTime(query: RunQuery, bucket: Bucket) {
    return this.#read((sql) => sumRunsByTime(sql, query, bucket));
  }

  sumFeedback(query: RunQuery) {
    return this.#read((sql) => sumFeedback(sql, query));
  }

  listThreads(query: RunQuery, page: ThreadPage) {
    return this.#read((sql) => listThreads(sql, query, page));
  }

  countThreads(query: RunQuery) {
    return this.#read((sql) => countThreads(sql, query));
  }

  sumThread(query: RunQuery, threadId: string) {
    return this.#read((sql) => sumThread(sql, query, threadId));
  }

  sumThreadFeedback(query: RunQuery, threadIds: readonly string[]) {
    return this.#read((sql) => sumThreadFeedback(sql, query, threadIds));
  }

  ofProjects(workspaceId: string, projectIds: readonly string[]) {
    return readProjectStats(this.#database.sql, workspaceId, projectIds);
  }

  lastStarts(workspaceId: string) {
    return readLastStarts(this.#database.sql, workspaceId);
  }

  figures(workspaceId: string, projectId: string | null, window: Window) {
    return readRunFigures(this.#database.sql, workspaceId, projectId, window);
  }

  hasRuns(workspaceId: string, projectId: string | null, window: Window) {
    return hasRuns(this.#database.sql, workspaceId, projectId, window);
  }

  mark(workspaceId: string) {
    return readTracesMark(this.#database, workspaceId);
  }

  scores(
    workspaceId: string,
    asked: { ids: readonly string[]; comparisonId: string | undefined; limit: number },
  ) {
    return this.#read(async (sql) => ({
      scores: await listScores(sql, workspaceId, asked),
      outcomes: await listOutcomes(sql, workspaceId, asked.ids, asked.limit),
    }));
  }
}
