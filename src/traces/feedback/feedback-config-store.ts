import type { Sql } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { timeTextSql } from "../runs/run.ts";
import { jsonbText } from "../wire/metadata.ts";
import type { FeedbackConfig } from "./feedback-config.ts";

const columns = raw.raw(
  `workspace_id, feedback_key, feedback_config, is_lower_score_better, ${timeTextSql("modified_at")} as modified_at`,
);

/** Undefined when the key has a different config; the same one again is no conflict. */
export async function insertFeedbackConfig(
  sql: Sql,
  config: Omit<FeedbackConfig, "modified_at">,
): Promise<FeedbackConfig | undefined> {
  const json = jsonbText(JSON.stringify(config.feedback_config));
  const { rows } = await raw<FeedbackConfig>`
    insert into trace_feedback_configs as c (workspace_id, feedback_key, feedback_config, is_lower_score_better)
    values (${config.workspace_id}, ${config.feedback_key}, ${json}::jsonb, ${config.is_lower_score_better})
    on conflict (workspace_id, feedback_key) do update set feedback_key = excluded.feedback_key
      where c.feedback_config = excluded.feedback_config and c.is_lower_score_better = excluded.is_lower_score_better
    returning ${columns}
  `.execute(sql);
  return rows[0];
}

export type FeedbackConfigFilter = {
  keys?: string[] | undefined;
  nameContains?: string | undefined;
  limit: number;
  offset: number;
};

export async function listFeedbackConfigs(
  sql: Sql,
  workspaceId: string,
  filter: FeedbackConfigFilter,
): Promise<FeedbackConfig[]> {
  const where: RawBuilder<unknown>[] = [raw`workspace_id = ${workspaceId}`];
  if (filter.keys) where.push(raw`feedback_key = any(${filter.keys}::text[])`);
  if (filter.nameContains !== undefined)
    where.push(raw`position(lower(${filter.nameContains}) in lower(feedback_key)) > 0`);
  const { rows } = await raw<FeedbackConfig>`
    select ${columns} from trace_feedback_configs where ${raw.join(where, raw` and `)}
    order by feedback_key limit ${filter.limit} offset ${filter.offset}
  `.execute(sql);
  return rows;
}

export async function updateFeedbackConfig(
  sql: Sql,
  workspaceId: string,
  key: string,
  change: { feedback_config?: unknown; is_lower_score_better?: boolean | undefined },
): Promise<FeedbackConfig | undefined> {
  const sets: RawBuilder<unknown>[] = [raw`modified_at = now()`];
  if (change.feedback_config !== undefined)
    sets.push(raw`feedback_config = ${jsonbText(JSON.stringify(change.feedback_config))}::jsonb`);
  if (change.is_lower_score_better !== undefined)
    sets.push(raw`is_lower_score_better = ${change.is_lower_score_better}`);
  const { rows } = await raw<FeedbackConfig>`
    update trace_feedback_configs set ${raw.join(sets)}
    where workspace_id = ${workspaceId} and feedback_key = ${key} returning ${columns}
  `.execute(sql);
  return rows[0];
}

export async function deleteFeedbackConfig(sql: Sql, workspaceId: string, key: string): Promise<boolean> {
  const result = await raw`
    delete from trace_feedback_configs where workspace_id = ${workspaceId} and feedback_key = ${key}
  `.execute(sql);
  return (result.numAffectedRows ?? 0n) > 0n;
}
