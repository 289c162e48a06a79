import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { type Feedback, type FeedbackChange, feedbackColumnsSql } from "../../../runs/feedback.ts";
import { jsonbText } from "../../../wire/metadata.ts";

const columns = raw.raw(feedbackColumnsSql);

/**
 * Writes feedback; sent again, it replaces what was sent before, but never that of another workspace. The
 * trace and project of a run that is already stored are filled in.
 */
export async function upsertFeedback(
  sql: Sql,
  feedback: readonly Feedback[],
  onlyProjectId?: string,
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
    left join lateral (
      select trace_id, project_id from trace_runs where id = f.run_id and workspace_id = f.workspace_id limit 1
    ) r on true
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

/** Sets the project and trace of feedback that came before its run. */
export async function settleEarlyFeedback(sql: Sql): Promise<void> {
  await raw`
    update trace_feedback f set project_id = r.project_id, trace_id = coalesce(f.trace_id, r.trace_id)
    from (
      select e.id, s.project_id, s.trace_id
      from (select id, run_id, workspace_id from trace_feedback where project_id is null order by created_at desc limit 1000) e
      cross join lateral (
        select project_id, trace_id from trace_runs where id = e.run_id and workspace_id = e.workspace_id limit 1
      ) s
    ) r
    where f.id = r.id
  `.execute(sql);
}

function json(value: unknown): string | null {
  return value === undefined || value === null ? null : jsonbText(JSON.stringify(value));
}
