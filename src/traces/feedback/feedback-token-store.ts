import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { timeTextSql } from "../runs/run.ts";
import { jsonbText } from "../wire/metadata.ts";
import type { FeedbackToken } from "./feedback-token.ts";

const columns = raw.raw(
  `id, workspace_id, run_id, feedback_key, feedback_id, feedback_config, ${timeTextSql("expires_at")} as expires_at`,
);

/** In the order given. */
export async function insertFeedbackTokens(
  sql: Sql,
  tokens: readonly (Omit<FeedbackToken, "expires_at"> & { expires_at: Date })[],
): Promise<FeedbackToken[]> {
  const rows = tokens.map(
    (
      token,
    ) => raw`(${token.id}::uuid, ${token.workspace_id}::uuid, ${token.run_id}::uuid, ${token.feedback_key}::text,
      ${token.feedback_id}::uuid,
      ${token.feedback_config == null ? null : jsonbText(JSON.stringify(token.feedback_config))}::jsonb,
      ${token.expires_at}::timestamptz)`,
  );
  const made = await raw<FeedbackToken>`
    insert into trace_feedback_tokens (id, workspace_id, run_id, feedback_key, feedback_id, feedback_config, expires_at)
    values ${raw.join(rows)} returning ${columns}
  `.execute(sql);
  const byId = new Map(made.rows.map((row) => [row.id, row]));
  return tokens.map((token) => byId.get(token.id)!);
}

export async function findFeedbackToken(sql: Sql, id: string, now: Date): Promise<FeedbackToken | undefined> {
  const { rows } = await raw<FeedbackToken>`
    select ${columns} from trace_feedback_tokens where id = ${id} and expires_at > ${now}
  `.execute(sql);
  return rows[0];
}

export async function listFeedbackTokens(
  sql: Sql,
  workspaceId: string,
  page: { runId: string; now: Date; limit: number; offset: number },
): Promise<FeedbackToken[]> {
  const { rows } = await raw<FeedbackToken>`
    select ${columns} from trace_feedback_tokens
    where workspace_id = ${workspaceId} and run_id = ${page.runId} and trace_feedback_tokens.expires_at > ${page.now}
    order by created_at, id limit ${page.limit} offset ${page.offset}
  `.execute(sql);
  return rows;
}

export async function deleteEndedFeedbackTokens(sql: Sql, now: Date): Promise<void> {
  await raw`delete from trace_feedback_tokens where expires_at <= ${now}`.execute(sql);
}
