import type { RunQuery } from "../../run-query.ts";
import type { Bucket, ThreadPage, Window } from "../../run-stats.ts";
import type { RunStatistics } from "../../run-storage.ts";
import { BoundedRows } from "./bounded-rows.ts";
import type { ClickHouseReadingOptions } from "./clickhouse-run-reading.ts";
import { FeedbackSums } from "./feedback-sums.ts";
import { ProjectSums } from "./project-sums.ts";
import { QueriedRuns } from "./queried-runs.ts";
import { RunSums } from "./run-sums.ts";
import { ThreadSummaries } from "./thread-summaries.ts";

export class ClickHouseRunStatistics implements RunStatistics {
  readonly #sums: RunSums;
  readonly #threads: ThreadSummaries;
  readonly #feedback: FeedbackSums;
  readonly #projects: ProjectSums;

  constructor({ clickHouse, database, readTimeoutMs }: ClickHouseReadingOptions) {
    const rows = new BoundedRows(clickHouse, readTimeoutMs);
    const runs = new QueriedRuns({ rows, database });
    this.#sums = new RunSums({ runs, database });
    this.#threads = new ThreadSummaries(runs);
    this.#feedback = new FeedbackSums({ rows, runs });
    this.#projects = new ProjectSums({ rows, runs, database });
  }

  sum(query: RunQuery) {
    return this.#sums.sum(query);
  }

  sumByTime(query: RunQuery, bucket: Bucket) {
    return this.#sums.sumByTime(query, bucket);
  }

  sumFeedback(query: RunQuery) {
    return this.#feedback.ofRuns(query);
  }

  listThreads(query: RunQuery, page: ThreadPage) {
    return this.#threads.list(query, page);
  }

  countThreads(query: RunQuery) {
    return this.#sums.countThreads(query);
  }

  sumThread(query: RunQuery, threadId: string) {
    return this.#sums.sumThread(query, threadId);
  }

  sumThreadFeedback(query: RunQuery, threadIds: readonly string[]) {
    return this.#feedback.ofThreads(query, threadIds);
  }

  ofProjects(workspaceId: string, projectIds: readonly string[]) {
    return this.#projects.of(workspaceId, projectIds);
  }

  lastStarts(workspaceId: string) {
    return this.#projects.lastStarts(workspaceId);
  }

  figures(workspaceId: string, projectId: string | null, window: Window) {
    return this.#sums.figures(workspaceId, projectId, window);
  }

  hasRuns(workspaceId: string, projectId: string | null, window: Window) {
    return this.#sums.hasRuns(workspaceId, projectId, window);
  }

  mark(workspaceId: string) {
    return this.#projects.mark(workspaceId);
  }

  scores(
    workspaceId: string,
    asked: { ids: readonly string[]; comparisonId: string | undefined; limit: number },
  ) {
    return this.#feedback.ofExamples(workspaceId, asked);
  }
}
