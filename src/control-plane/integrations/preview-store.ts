import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Deployment } from "../desired-state/deployment.ts";

/** Those that want a preview for each pull request. */
export async function listWithPreviews(
  sql: Sql,
  workspaceId: string,
  integrationId: string,
): Promise<Deployment[]> {
  const { rows } = await raw<Deployment>`
    select * from deployments where workspace_id = ${workspaceId} and deleted_at is null and previews
      and preview_of is null and source_config->>'integration_id' = ${integrationId} order by id`.execute(
    sql,
  );
  return rows;
}

/** Of every workspace. */
export async function listAllWithPreviews(sql: Sql): Promise<Deployment[]> {
  const { rows } = await raw<Deployment>`
    select * from deployments where deleted_at is null and previews and preview_of is null
      and source_config->>'integration_id' is not null order by id`.execute(sql);
  return rows;
}

export async function listPreviews(sql: Sql, parentId: string): Promise<Deployment[]> {
  const { rows } = await raw<Deployment>`
    select * from deployments where preview_of = ${parentId} and deleted_at is null order by id`.execute(sql);
  return rows;
}

export async function findPreview(
  tx: Sql,
  parentId: string,
  number: number,
): Promise<Deployment | undefined> {
  const { rows } = await raw<Deployment>`
    select * from deployments where preview_of = ${parentId} and preview_number = ${number} and deleted_at is null
    for update`.execute(tx);
  return rows[0];
}

export async function countPreviews(tx: Sql, parentId: string): Promise<number> {
  const { rows } = await raw<{ count: number }>`
    select count(*)::int as count from deployments where preview_of = ${parentId} and deleted_at is null`.execute(
    tx,
  );
  return rows[0]!.count;
}

export async function markPreview(
  tx: Sql,
  id: string,
  of: { parentId: string; number: number; seenAt: Date },
): Promise<void> {
  await raw`
    update deployments set preview_of = ${of.parentId}, preview_number = ${of.number}, preview_seen_at = ${of.seenAt}
    where id = ${id}`.execute(tx);
}

/** The latest of what was seen: a list may be older than a webhook. */
export async function saveSeen(tx: Sql, id: string, at: Date): Promise<void> {
  await raw`
    update deployments set preview_seen_at = greatest(preview_seen_at, ${at}) where id = ${id}`.execute(tx);
}

export async function savePreviewSettings(
  tx: Sql,
  id: string,
  settings: { enabled: boolean; shareSecrets: boolean },
  now: Date,
): Promise<void> {
  await raw`
    update deployments set previews = ${settings.enabled}, previews_share_secrets = ${settings.shareSecrets},
      updated_at = ${now} where id = ${id}`.execute(tx);
}

/** Those without a push for long, and those whose parent is gone or has previews turned off. */
export async function listEndedPreviews(sql: Sql, before: Date): Promise<Deployment[]> {
  const { rows } = await raw<Deployment>`
    select c.* from deployments c join deployments p on p.id = c.preview_of
    where c.deleted_at is null and (c.preview_seen_at < ${before} or p.deleted_at is not null or not p.previews)
    limit 200`.execute(sql);
  return rows;
}
