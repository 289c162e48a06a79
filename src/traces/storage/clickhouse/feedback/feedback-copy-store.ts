import type { Sql } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import type { Feedback } from "../../../runs/feedback.ts";
import { type EarlyPlace, earlyAtOnce, isEarly } from "../../early-feedback.ts";

/** A row of the copy in ClickHouse. */
export type CopiedFeedback = {
  workspace_id: string;
  run_id: string;
  id: string;
  project_id: string | null;
  comparison_id: string | null;
  key: string;
  score: number | null;
  value_text: string | null;
  is_text: boolean;
  comment: string | null;
  source: string | null;
  copied_at: string;
};

/**
 * Feedback on runs as it is copied, and the time of it. Nobody changes a row while its time is taken, so that of two copies
 * the later one has what was written later.
 */
export async function readFeedbackToCopy(sql: Sql, ids: readonly string[]): Promise<CopiedFeedback[]> {
  const { rows } = await raw<CopiedFeedback>`
    select workspace_id, run_id, id, project_id, comparative_experiment_id as comparison_id, key, score,
      coalesce(jsonb_or_null(value) #>> '{}', value) as value_text, coalesce(value like '"%', false) as is_text, comment,
      feedback_source ->> 'type' as source, ${now} as copied_at
    from trace_feedback where id = any(${ids}::uuid[]) and run_id is not null for share
  `.execute(sql);
  return rows;
}

const now = raw`to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')`;

export async function readClock(sql: Sql): Promise<string> {
  const { rows } = await raw<{ time: string }>`select ${now} as time`.execute(sql);
  return rows[0]!.time;
}

export type EarlyFeedback = Pick<Feedback, "id" | "workspace_id"> & { run_id: string };

/** Feedback that came before its run, the newest of it. */
export async function listEarlyFeedback(
  sql: Sql,
  before: EarlyPlace | undefined,
): Promise<(EarlyFeedback & { at: string })[]> {
  const { rows } = await raw<EarlyFeedback & { at: string }>`
    select id, workspace_id, run_id, created_at::text as at from trace_feedback
    where ${isEarly(before)}
    order by created_at desc, id desc limit ${earlyAtOnce}
  `.execute(sql);
  return rows;
}

/** Where the runs of feedback stand, by the feedback's id. */
export type SettledFeedback = { id: string; workspace_id: string; project_id: string; trace_id: string };

export async function settleFeedback(sql: Sql, settled: readonly SettledFeedback[]): Promise<void> {
  const list = (name: keyof SettledFeedback) => raw`${settled.map((each) => each[name])}::uuid[]`;
  await raw`
    update trace_feedback f set project_id = r.project_id, trace_id = coalesce(f.trace_id, r.trace_id)
    from unnest(${list("id")}, ${list("workspace_id")}, ${list("project_id")}, ${list("trace_id")})
      as r (id, workspace_id, project_id, trace_id)
    where f.id = r.id and f.workspace_id = r.workspace_id
  `.execute(sql);
}

/** The run that feedback is on, if it is on one. */
export async function findRunOfFeedback(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<EarlyFeedback | undefined> {
  const { rows } = await raw<EarlyFeedback>`
    select id, workspace_id, run_id from trace_feedback
    where id = ${id} and workspace_id = ${workspaceId} and run_id is not null
  `.execute(sql);
  return rows[0];
}
