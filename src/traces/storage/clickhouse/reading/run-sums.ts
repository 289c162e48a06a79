import type { Database } from "../../../../platform/db/database.ts";
import { listLiveProjects } from "../../live-projects-store.ts";
import type { RunQuery } from "../../run-query.ts";
import {
  type Bucket,
  type BucketStats,
  noRuns,
  type RunFigures,
  type RunStats,
  type ThreadNumbers,
  type Window,
} from "../../run-stats.ts";
import type { RunStatistics } from "../../run-storage.ts";
import { latency } from "../filter/compile-field.ts";
import type { QueriedRuns } from "./queried-runs.ts";
import { timeText } from "./run-field-sql.ts";

type Sums = Pick<RunStatistics, "sum" | "sumByTime" | "countThreads" | "sumThread" | "figures" | "hasRuns">;

/** Runs in numbers. */
export class RunSums implements Sums {
  readonly #runs: QueriedRuns;
  readonly #database: Database;

  constructor(options: { runs: QueriedRuns; database: Database }) {
    this.#runs = options.runs;
    this.#database = options.database;
  }

  async sum(query: RunQuery): Promise<RunStats> {
    const [row] = await this.#runs.ask<RunStats>(query, (runs) => `select ${aggregates(query)} from ${runs}`);
    return row ?? noRuns;
  }

  async sumByTime(query: RunQuery, bucket: Bucket): Promise<{ total: RunStats; buckets: BucketStats[] }> {
    const start = `toDateTime64(dateTrunc('${bucket}', start_time, 'UTC'), 6, 'UTC')`;
    const [total, buckets] = await Promise.all([
      this.sum(query),
      this.#runs.ask<BucketStats>(
        query,
        (runs) => `select ${timeText(start)} as bucket_start, ${aggregates(query)} from ${runs}
          group by bucket_start order by bucket_start`,
      ),
    ]);
    return { total, buckets };
  }

  async countThreads(query: RunQuery): Promise<number> {
    const roots = { ...query, isRoot: true };
    const [row] = await this.#runs.ask<{ n: number }>(
      roots,
      (runs) => `select uniqExact(thread_id) as n from ${runs}`,
    );
    return row?.n ?? 0;
  }

  async sumThread(query: RunQuery, threadId: string): Promise<ThreadNumbers> {
    const roots = { ...query, isRoot: true };
    const [row] = await this.#runs.ask<ThreadNumbers>(
      roots,
      (runs, values) => `select count() as turns, ${timeOrNull("min(start_time)")} as first_start_time,
        ${timeOrNull("max(start_time)")} as last_start_time, ${timeText("max(end_time)")} as last_end_time,
        ${sumsOfRoots},
        ${percentiles("latency", latency)}
        from ${runs} and thread_id = ${values.bind(threadId, "String")}`,
    );
    return row ?? noThread;
  }

  async figures(workspaceId: string, projectId: string | null, window: Window): Promise<RunFigures> {
    const query = await this.#rootsOf(workspaceId, projectId, window);
    const [row] = await this.#runs.ask<{ runs: number; errors: number; p95: number | null }>(
      query,
      (runs) => `select count() as runs, countIf(status = 'error') as errors,
        quantileExactInclusive(0.95)(${latency}) as p95 from ${runs}`,
    );
    return { runs: row?.runs ?? 0, errors: row?.errors ?? 0, p95Seconds: row?.p95 ?? null };
  }

  async hasRuns(workspaceId: string, projectId: string | null, window: Window): Promise<boolean> {
    const query = await this.#rootsOf(workspaceId, projectId, window);
    return (await this.#runs.ask(query, (runs) => `select 1 as one from ${runs} limit 1`)).length > 0;
  }

  /** Of one project, or of all but experiments: their runs are made to fail. */
  async #rootsOf(workspaceId: string, projectId: string | null, { from, to }: Window): Promise<RunQuery> {
    const all = await listLiveProjects(this.#database.sql, { workspaceId, isExperiment: false });
    // The end belongs to the window, to the millisecond that a date has.
    const until = new Date(to.getTime()).toISOString().replace("Z", "001Z");
    return {
      ...{ workspaceId, isRoot: true, since: from.toISOString(), until },
      projectIds: projectId === null ? all : [projectId],
    };
  }
}

const noThread: ThreadNumbers = {
  ...{ turns: 0, first_start_time: null, last_start_time: null, last_end_time: null, latency_p50: null },
  ...{ latency_p99: null, prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  ...{ prompt_cost: null, completion_cost: null, total_cost: null },
};

/** Without runs the earliest time is no time. */
const timeOrNull = (of: string) => `if(count() = 0, null, ${timeText(of)})`;

export const percentiles = (name: string, of: string) =>
  `quantileExactInclusive(0.5)(${of}) as ${name}_p50, quantileExactInclusive(0.99)(${of}) as ${name}_p99`;

function sums(total: string, prompt: string, completion: string, cost: (of: string) => string): string {
  const costs = ["prompt", "completion", "total"].map((of) => `toFloat64(sum(${cost(of)})) as ${of}_cost`);
  const tokens = Object.entries({ total, prompt, completion }).map(
    ([name, sum]) => `ifNull(toFloat64(${sum}), 0) as ${name}_tokens`,
  );
  return [...tokens, ...costs].join(", ");
}

export const sumsOfRoots = sums(
  "sum(trace_runs.total_tokens)",
  "sum(trace_runs.prompt_tokens)",
  "sum(trace_runs.completion_tokens)",
  (of) => `costs[${["prompt", "completion", "total"].indexOf(of) + 1}]`,
);

/**
 * A run's tokens and costs include those of the runs below it. Over roots that makes whole traces; over
 * other runs only what each used itself may be added up, or it would count once per ancestor.
 */
export function aggregates({ isRoot }: Pick<RunQuery, "isRoot">): string {
  const own = (index: number) => `toDecimal128OrNull(usage[${index}], 18)`;
  const [prompt, completion, total] = isRoot
    ? ["trace_runs.prompt_tokens", "trace_runs.completion_tokens", "trace_runs.total_tokens"]
    : [own(1), own(2), own(3)];
  const costs: Record<string, string> = isRoot
    ? { prompt: "costs[1]", completion: "costs[2]", total: "costs[3]" }
    : { prompt: own(4), completion: own(5), total: own(6) };
  const firstToken = "(dateDiff('microsecond', start_time, first_token_time) / 1e6)";
  return `count() as run_count, avg(status = 'error') as error_rate, avg(first_token_time is not null) as streaming_rate,
    ${percentiles("latency", latency)}, ${percentiles("first_token", firstToken)},
    quantileExactInclusive(0.5)(toFloat64(${total})) as median_tokens,
    ${sums(`sum(${total})`, `sum(${prompt})`, `sum(${completion})`, (of) => costs[of]!)},
    ${timeOrNull("max(start_time)")} as last_run_start_time`;
}
