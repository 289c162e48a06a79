import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { type Feedback, type FeedbackChange, feedbackColumnsSql } from "../runs/feedback.ts";
import { jsonbText } from "../wire/metadata.ts";
import type { ProjectStats } from "./run-stats.ts";
import type { RunPlace } from "./run-storage.ts";

/** The rows of feedback, which are in PostgreSQL wherever runs are. */

const columns = raw.raw(feedbackColumnsSql);
const recent = 500;

export type UpsertOptions = {
  /** Rows of other projects are left as they are. */
  onlyProjectId?: string | undefined;
  /** A table of one row or none: `trace_id` and `project_id` of the run of `f`, where runs are at hand. */
  runOf?: RawBuilder<unknown>;
};

const unknown = raw`select null::uuid as trace_id, null::uuid as project_id`;

/** Writes feedback; sent again, it replaces what was sent before, but never that of another workspace. */
export async function upsertFeedback(
  sql: Sql,
  feedback: readonly Feedback[],
  { onlyProjectId, runOf = unknown }: UpsertOptions,
): Promise<Feedback[]> {
  if (feedback.length === 0) return [];
  const rows = feedback.map(
    (each) => raw`(${each.id}::uuid, ${each.workspace_id}::uuid, ${each.run_id}::uuid, ${each.trace_id}::uuid,
      ${each.project_id}::uuid, ${each.key}::text, ${each.score}::double precision, ${each.value}::text,
      ${each.comment}::text, ${each.correction}::text, ${json(each.feedback_source)}::jsonb,
      ${json(each.feedback_config)}::jsonb, ${each.comparative_experiment_id}::uuid, ${each.feedback_group_id}::uuid,
      ${json(each.extra)}::jsonb, ${each.created_at}::timestamptz, ${each.modified_at}::timestamptz)`,
  );
  const result = await raw<Feedback>`
    insert into trace_feedback (id, workspace_id, run_id, trace_id, project_id, key, score, value, comment, correction,
      feedback_source, feedback_config, comparative_experiment_id, feedback_group_id, extra, created_at, modified_at)
    select f.id, f.workspace_id, f.run_id, coalesce(f.trace_id, r.trace_id), coalesce(r.project_id, f.project_id), f.key,
      f.score, f.value, f.comment, f.correction, f.source, f.config, f.experiment, f.group_id, f.extra, f.created, f.modified
    from (values ${raw.join(rows)}) as f (id, workspace_id, run_id, trace_id, project_id, key, score, value, comment,
      correction, source, config, experiment, group_id, extra, created, modified)
    left join lateral (${runOf}) r on true
    on conflict (id) do update set key = excluded.key, score = excluded.score, value = excluded.value,
      comment = excluded.comment, correction = excluded.correction, feedback_source = excluded.feedback_source,
      feedback_config = excluded.feedback_config, extra = excluded.extra, modified_at = excluded.modified_at
      where trace_feedback.workspace_id = excluded.workspace_id
        and coalesce(trace_feedback.project_id = ${onlyProjectId ?? null}::uuid, ${onlyProjectId === undefined}::boolean)
    returning ${columns}
  `.execute(sql);
  return result.rows;
}

export async function updateFeedback(
  sql: Sql,
  workspaceId: string,
  id: string,
  change: FeedbackChange,
  now: Date,
): Promise<Feedback | undefined> {
  const sets = [
    raw`modified_at = ${now}`,
    ...Object.entries(change)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => raw`${raw.id(name)} = ${value}`),
  ];
  const { rows } = await raw<Feedback>`
    update trace_feedback set ${raw.join(sets)}
    where id = ${id} and workspace_id = ${workspaceId} returning ${columns}
  `.execute(sql);
  return rows[0];
}

export async function deleteFeedback(sql: Sql, workspaceId: string, id: string): Promise<boolean> {
  const result =
    await raw`delete from trace_feedback where id = ${id} and workspace_id = ${workspaceId}`.execute(sql);
  return (result.numAffectedRows ?? 0n) > 0n;
}

/** On a project itself, and on its runs. */
export async function deleteFeedbackOf(sql: Sql, { workspaceId, projectId }: RunPlace): Promise<void> {
  await raw`delete from trace_feedback where project_id = ${projectId} and workspace_id = ${workspaceId}`.execute(
    sql,
  );
}

/** Keys of a project, the most frequent first. */
export async function listSeenFeedbackKeys(sql: Sql, place: RunPlace): Promise<string[]> {
  const { rows } = await raw<{ key: string }>`select key from (
      select key from trace_feedback where project_id = ${place.projectId} and workspace_id = ${place.workspaceId}
      limit ${recent}
    ) given group by key order by count(*) desc, key`.execute(sql);
  return rows.map((row) => row.key);
}

/** By project and key: how many there are and their mean. */
export async function readProjectFeedback(
  sql: Sql,
  workspaceId: string,
  projectIds: readonly string[],
): Promise<Map<string, ProjectStats["feedback_stats"]>> {
  const { rows } = await raw<{ project_id: string; feedback_stats: ProjectStats["feedback_stats"] }>`
    select project_id, jsonb_object_agg(key, stats) as feedback_stats from (
      select project_id, key,
        jsonb_build_object('n', count(*), 'avg', avg(score), 'stdev', stddev_samp(score)) as stats
      from trace_feedback where project_id = any(${projectIds}::uuid[]) and workspace_id = ${workspaceId}
      group by project_id, key
    ) by_key group by project_id
  `.execute(sql);
  return new Map(rows.map((row) => [row.project_id, row.feedback_stats]));
}

function json(value: unknown): string | null {
  return value === undefined || value === null ? null : jsonbText(JSON.stringify(value));
}
