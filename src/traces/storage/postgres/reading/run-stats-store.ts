import type { Sql } from "../../../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../../../platform/db/raw.ts";
import { timeTextSql } from "../../../runs/run.ts";
import { projectsOf } from "../../live-projects-store.ts";
import type { RunQuery } from "../../run-query.ts";
import { type Bucket, type BucketStats, type FeedbackStats, noRuns, type RunStats } from "../../run-stats.ts";
import { latencyOf } from "../filter/compile-field.ts";
import { runConditions } from "./run-conditions.ts";

/** All the runs a query finds, in numbers. */
export async function sumRuns(sql: Sql, query: RunQuery): Promise<RunStats> {
  const { rows } = await raw<RunStats>`select ${aggregates(query)} from trace_runs r
    where r.project_id in (${projectsOf(query)}) and ${runConditions(query)}`.execute(sql);
  return rows[0] ?? noRuns;
}

/** The same per stretch of time, oldest first, and in all; stretches without runs are left out. */
export async function sumRunsByTime(
  sql: Sql,
  query: RunQuery,
  bucket: Bucket,
): Promise<{ total: RunStats; buckets: BucketStats[] }> {
  const start = raw`date_trunc(${bucket}, r.start_time, 'UTC')`;
  type Row = RunStats & { bucket_start: string | null };
  const { rows } = await raw<Row>`select ${raw.raw(timeTextSql("runs.bucket"))} as bucket_start,
      ${aggregates(query, "runs")}
    from (
      select ${start} as bucket, r.* from trace_runs r
      where r.project_id in (${projectsOf(query)}) and ${runConditions(query)}
    ) runs
    group by grouping sets ((), (runs.bucket)) order by runs.bucket`.execute(sql);
  const total = rows.find((row) => row.bucket_start === null);
  const { bucket_start: _, ...sums } = total ?? { ...noRuns, bucket_start: null };
  return { total: sums, buckets: rows.filter((row): row is BucketStats => row.bucket_start !== null) };
}

/**
 * A run's tokens and costs include those of the runs below it. Over roots that makes whole traces; over
 * other runs only what each used itself may be added up, or it would count once per ancestor.
 */
function aggregates(query: RunQuery, alias = "r"): RawBuilder<unknown> {
  const usage = (column: string, index: number) =>
    raw.raw(query.isRoot ? `${alias}.${column}` : `${alias}.usage[${index}]`);
  const column = (name: string) => raw.ref(`${alias}.${name}`);
  const latency = latencyOf(alias);
  const firstToken = raw`date_part('epoch', ${column("first_token_time")} - ${column("start_time")})`;
  // Written alike for both shares, so that the database sorts once.
  const percentile = (which: 1 | 2, of: RawBuilder<unknown>) =>
    raw`(percentile_cont(array[0.5, 0.99]) within group (order by ${of}))[${raw.raw(String(which))}]`;
  const sum = (of: RawBuilder<unknown>) => raw`coalesce(sum(${of}), 0)::float8`;
  return raw`count(*)::int as run_count,
    avg((${column("status")} = 'error')::int)::float8 as error_rate,
    avg((${column("first_token_time")} is not null)::int)::float8 as streaming_rate,
    ${percentile(1, latency)} as latency_p50,
    ${percentile(2, latency)} as latency_p99,
    ${percentile(1, firstToken)} as first_token_p50,
    ${percentile(2, firstToken)} as first_token_p99,
    ${sum(usage("prompt_tokens", 1))} as prompt_tokens,
    ${sum(usage("completion_tokens", 2))} as completion_tokens,
    ${sum(usage("total_tokens", 3))} as total_tokens,
    ${percentile(1, raw`${usage("total_tokens", 3)}::float8`)} as median_tokens,
    sum(${usage("prompt_cost", 4)})::float8 as prompt_cost,
    sum(${usage("completion_cost", 5)})::float8 as completion_cost,
    sum(${usage("total_cost", 6)})::float8 as total_cost,
    ${raw.raw(timeTextSql(`max(${alias}.start_time)`))} as last_run_start_time`;
}

/** Per key: how many, the average score, and how often each text value was given. */
export async function sumFeedback(sql: Sql, query: RunQuery): Promise<FeedbackStats> {
  type Row = { key: string; n: number; avg: number | null; values: Record<string, number> };
  const { rows } = await raw<Row>`
    with given as (
      select f.key, f.score,
        case when f.value like '"%' then coalesce(jsonb_or_null(f.value) #>> '{}', f.value) end as text
      from trace_feedback f join trace_runs r on r.id = f.run_id and r.workspace_id = f.workspace_id
      where r.project_id in (${projectsOf(query)}) and ${runConditions(query)}
    ), texts as (
      select key, jsonb_object_agg(text, n) as counts
      from (select key, text, count(*) as n from given where text is not null group by key, text) counted
      group by key
    )
    select given.key, count(*)::int as n, avg(given.score) as avg, coalesce(texts.counts, '{}'::jsonb) as values
    from given left join texts on texts.key = given.key
    group by given.key, texts.counts order by given.key`.execute(sql);
  return Object.fromEntries(rows.map(({ key, ...stats }) => [key, stats]));
}
