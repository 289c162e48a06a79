import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Integration } from "./integration.ts";

export async function insertIntegration(
  sql: Sql,
  row: Omit<Integration, "installation_id" | "created_by" | "created_at"> & { createdBy: string; now: Date },
): Promise<boolean> {
  const { rows } = await raw`
    insert into git_integrations (id, workspace_id, name, host, api_url, credentials_sealed, webhook_secret_sealed,
      created_by, created_at)
    values (${row.id}, ${row.workspace_id}, ${row.name}, ${row.host}, ${row.api_url}, ${row.credentials_sealed},
      ${row.webhook_secret_sealed}, ${row.createdBy}, ${row.now})
    on conflict (workspace_id, name) where deleted_at is null do nothing returning id`.execute(sql);
  return rows.length > 0;
}

export async function listIntegrations(sql: Sql, workspaceId: string): Promise<Integration[]> {
  const { rows } = await raw<Integration>`
    select * from git_integrations where workspace_id = ${workspaceId} and deleted_at is null
    order by created_at, id`.execute(sql);
  return rows;
}

/** How many deployments use each. */
export async function countUses(sql: Sql, workspaceId: string): Promise<Map<string, number>> {
  const { rows } = await raw<{ id: string; count: number }>`
    select source_config->>'integration_id' as id, count(*)::int as count from deployments
    where workspace_id = ${workspaceId} and deleted_at is null and source_config->>'integration_id' is not null
    group by 1`.execute(sql);
  return new Map(rows.map(({ id, count }) => [id, count]));
}

export async function findIntegration(
  sql: Sql,
  workspaceId: string,
  id: string,
): Promise<Integration | undefined> {
  const { rows } = await raw<Integration>`
    select * from git_integrations where id = ${id} and workspace_id = ${workspaceId} and deleted_at is null`.execute(
    sql,
  );
  return rows[0];
}

/** Of any workspace: for webhooks, whose signature is the proof. */
export async function findAnyIntegration(sql: Sql, id: string): Promise<Integration | undefined> {
  const { rows } = await raw<Integration>`
    select * from git_integrations where id = ${id} and deleted_at is null`.execute(sql);
  return rows[0];
}

/** The secrets go with it; the row stays because revisions name it. */
export async function deleteIntegration(
  sql: Sql,
  workspaceId: string,
  id: string,
  now: Date,
  emptied: { credentials: string; webhook: string },
): Promise<boolean> {
  const { rows } = await raw`
    update git_integrations set deleted_at = ${now}, credentials_sealed = ${emptied.credentials},
      webhook_secret_sealed = ${emptied.webhook}
    where id = ${id} and workspace_id = ${workspaceId} and deleted_at is null returning id`.execute(sql);
  return rows.length > 0;
}
