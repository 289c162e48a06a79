import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { timeTextSql } from "../../../runs/run.ts";
import { readProjectFeedback } from "../../feedback-row-store.ts";
import type { ProjectStats } from "../../run-stats.ts";

export async function readProjectStats(
  sql: Sql,
  workspaceId: string,
  ids: readonly string[],
): Promise<Map<string, ProjectStats>> {
  if (ids.length === 0) return new Map();
  const feedback = await readProjectFeedback(sql, workspaceId, ids);
  const { rows } = await raw<Omit<ProjectStats, "feedback_stats"> & { id: string }>`
    select p.id, r.* from unnest(${ids}::uuid[]) as p (id)
    cross join lateral (
      select count(*) as run_count, coalesce(sum(total_tokens), 0)::bigint as total_tokens,
        coalesce(sum(prompt_tokens), 0)::bigint as prompt_tokens,
        coalesce(sum(completion_tokens), 0)::bigint as completion_tokens,
        sum(total_cost)::float8 as total_cost, sum(prompt_cost)::float8 as prompt_cost,
        sum(completion_cost)::float8 as completion_cost,
        percentile_cont(0.5) within group (order by extract(epoch from end_time - start_time)::float8) as latency_p50,
        percentile_cont(0.99) within group (order by extract(epoch from end_time - start_time)::float8) as latency_p99,
        percentile_cont(0.5) within group (order by extract(epoch from first_token_time - start_time)::float8) as first_token_p50,
        percentile_cont(0.99) within group (order by extract(epoch from first_token_time - start_time)::float8) as first_token_p99,
        avg((status = 'error')::int)::float8 as error_rate,
        avg((first_token_time is not null)::int)::float8 as streaming_rate,
        ${raw.raw(timeTextSql("max(start_time)"))} as last_run_start_time
      from trace_runs where project_id = p.id and is_root and workspace_id = ${workspaceId}
    ) r
  `.execute(sql);
  return new Map(rows.map(({ id, ...stats }) => [id, { ...stats, feedback_stats: feedback.get(id) ?? {} }]));
}

/** The index of each project's runs has its last one at its end. */
export async function readLastStarts(sql: Sql, workspaceId: string): Promise<Map<string, string>> {
  const { rows } = await raw<{ id: string; last: string }>`
    select p.id, ${raw.raw(timeTextSql("r.last"))} as last from trace_projects p
    cross join lateral (select max(start_time) as last from trace_runs where project_id = p.id) r
    where p.workspace_id = ${workspaceId} and p.deleted_at is null and r.last is not null
  `.execute(sql);
  return new Map(rows.map(({ id, last }) => [id, last]));
}
