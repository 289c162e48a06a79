import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** The experiments among these that are of the dataset. */
export async function listExperimentsOf(
  sql: Sql,
  workspaceId: string,
  datasetId: string,
  ids: readonly string[],
): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`
    select id from trace_projects where id = any(${ids}::uuid[]) and workspace_id = ${workspaceId}
      and reference_dataset_id = ${datasetId} and deleted_at is null
  `.execute(sql);
  return rows.map(({ id }) => id);
}

export async function listKeysWhereLessIsBetter(sql: Sql, workspaceId: string): Promise<string[]> {
  const { rows } = await raw<{ feedback_key: string }>`
    select feedback_key from trace_feedback_configs where workspace_id = ${workspaceId} and is_lower_score_better
  `.execute(sql);
  return rows.map(({ feedback_key }) => feedback_key);
}
