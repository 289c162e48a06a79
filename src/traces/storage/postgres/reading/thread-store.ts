import type { Sql } from "../../../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../../../platform/db/raw.ts";
import { timeTextSql } from "../../../runs/run.ts";
import { projectsOf } from "../../live-projects-store.ts";
import { previewChars, type RunQuery } from "../../run-query.ts";
import type { FeedbackStats, ThreadNumbers, ThreadPage, ThreadSummary } from "../../run-stats.ts";
import { latencyOf } from "../filter/compile-field.ts";
import { runConditions } from "./run-conditions.ts";

/** Those whose roots a query finds, the ones with the newest trace first; one more than the limit if there is more. */
export async function listThreads(sql: Sql, query: RunQuery, page: ThreadPage): Promise<ThreadSummary[]> {
  const roots = raw`r.project_id in (${projectsOf(query)}) and r.is_root and r.thread_id is not null
    and ${runConditions({ ...query, isRoot: true })}`;
  const after = page.after
    ? raw`having (max(r.start_time), r.thread_id) < (${page.after.startTime}::timestamptz, ${page.after.threadId})`
    : raw``;
  const pick = (order: string, condition = raw`true`) =>
    raw`select r.id, r.inputs, r.outputs, r.error from trace_runs r
      where r.thread_id = page.thread_id and ${roots} and ${condition} order by r.start_time ${raw.raw(order)}, r.id limit 1`;
  const { rows } = await raw<ThreadSummary>`
    with page as materialized (
      select r.thread_id, count(*)::int as count, count(*) filter (where r.status = 'error')::int as num_errored_turns,
        min(r.start_time) as first_start, max(r.start_time) as last_start, ${sums}
      from trace_runs r where ${roots} group by r.thread_id ${after}
      order by max(r.start_time) desc, r.thread_id desc limit ${page.limit + 1} offset ${page.offset ?? 0}
    )
    select page.thread_id, page.count, page.num_errored_turns, page.total_tokens, page.total_cost, page.latency_p50,
      page.latency_p99, ${raw.raw(timeTextSql("page.first_start"))} as min_start_time,
      ${raw.raw(timeTextSql("page.last_start"))} as max_start_time,
      f.id as first_trace_id, left(f.inputs, ${previewChars}) as first_inputs,
      l.id as last_trace_id, left(l.outputs, ${previewChars}) as last_outputs,
      left(e.error, ${previewChars}) as last_error
    from page
    cross join lateral (${pick("asc")}) f
    cross join lateral (${pick("desc")}) l
    left join lateral (${pick("desc", raw`r.status = 'error'`)}) e on page.num_errored_turns > 0
    order by page.last_start desc, page.thread_id desc`.execute(sql);
  return rows;
}

const percentile = (which: 1 | 2) =>
  raw`(percentile_cont(array[0.5, 0.99]) within group (order by ${latencyOf("r")}))[${raw.raw(String(which))}]`;
const sums: RawBuilder<unknown> = raw`coalesce(sum(r.total_tokens), 0)::float8 as total_tokens,
  coalesce(sum(r.prompt_tokens), 0)::float8 as prompt_tokens,
  coalesce(sum(r.completion_tokens), 0)::float8 as completion_tokens,
  sum(r.total_cost)::float8 as total_cost, sum(r.prompt_cost)::float8 as prompt_cost,
  sum(r.completion_cost)::float8 as completion_cost,
  ${percentile(1)} as latency_p50, ${percentile(2)} as latency_p99`;

export async function countThreads(sql: Sql, query: RunQuery): Promise<number> {
  const { rows } = await raw<{ n: number }>`select count(distinct r.thread_id)::int as n from trace_runs r
    where r.project_id in (${projectsOf(query)}) and r.is_root and r.thread_id is not null
      and ${runConditions({ ...query, isRoot: true })}`.execute(sql);
  return rows[0]?.n ?? 0;
}

/** The feedback on the traces of threads, by thread. */
export async function sumThreadFeedback(
  sql: Sql,
  query: RunQuery,
  threadIds: readonly string[],
): Promise<Map<string, FeedbackStats>> {
  type Row = {
    thread_id: string;
    key: string;
    n: number;
    avg: number | null;
    values: Record<string, number>;
  };
  const { rows } = await raw<Row>`
    select given.thread_id, given.key, count(*)::int as n, avg(given.score) as avg,
      coalesce((select jsonb_object_agg(t.text, t.n) from (
        select texts.text, count(*) as n from unnest(array_agg(given.text)) texts (text)
        where texts.text is not null group by texts.text) t), '{}'::jsonb) as values
    from (
      select r.thread_id, f.key, f.score,
        case when f.value like '"%' then coalesce(jsonb_or_null(f.value) #>> '{}', f.value) end as text
      from trace_runs r join trace_feedback f on f.run_id = r.id and f.workspace_id = r.workspace_id
      where r.thread_id = any(${threadIds}::text[]) and r.project_id in (${projectsOf(query)}) and r.is_root
        and ${runConditions({ ...query, isRoot: true })}
    ) given group by given.thread_id, given.key order by given.key`.execute(sql);
  const byThread = new Map<string, FeedbackStats>();
  for (const { thread_id, key, ...stats } of rows)
    byThread.set(thread_id, { ...byThread.get(thread_id), [key]: stats });
  return byThread;
}

/** One thread in numbers. */
export async function sumThread(sql: Sql, query: RunQuery, threadId: string): Promise<ThreadNumbers> {
  const { rows } = await raw<ThreadNumbers>`
    select count(*)::int as turns, ${raw.raw(timeTextSql("min(r.start_time)"))} as first_start_time,
      ${raw.raw(timeTextSql("max(r.start_time)"))} as last_start_time,
      ${raw.raw(timeTextSql("max(r.end_time)"))} as last_end_time, ${sums}
    from trace_runs r where r.thread_id = ${threadId} and r.project_id in (${projectsOf(query)}) and r.is_root
      and ${runConditions({ ...query, isRoot: true })}`.execute(sql);
  return rows[0]!;
}
