import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Deployment, DesiredState } from "./deployment.ts";
import { failedStatuses } from "./revision.ts";
import type { SleepState } from "./sleep.ts";

export type DeploymentFilter = {
  limit: number;
  offset: number;
  name?: string | undefined;
  nameContains?: string | undefined;
  status?: string | undefined;
  deploymentType?: string | undefined;
  hasListener?: boolean | undefined;
  ids?: string[] | undefined;
  slug?: string | undefined;
};

export async function insertDeployment(
  tx: Sql,
  row: Pick<
    Deployment,
    | "id"
    | "workspace_id"
    | "name"
    | "slug"
    | "source"
    | "source_config"
    | "source_revision_config"
    | "tracked_repo_ref"
    | "secrets_sealed"
    | "secret_references"
    | "shareable"
    | "route_through_gateway"
    | "database_name"
    | "database_password_sealed"
  > & { createdBy: string | null; now: Date },
): Promise<boolean> {
  const { rows } = await raw`
    insert into deployments (id, workspace_id, name, slug, source, source_config, source_revision_config,
      tracked_repo_ref, secrets_sealed, secret_references, shareable, route_through_gateway, database_name, database_password_sealed, created_by,
      created_at, updated_at)
    values (${row.id}, ${row.workspace_id}, ${row.name}, ${row.slug}, ${row.source},
      ${JSON.stringify(row.source_config)}::jsonb, ${JSON.stringify(row.source_revision_config)}::jsonb,
      ${row.tracked_repo_ref}, ${row.secrets_sealed},
      ${row.secret_references === null ? null : JSON.stringify(row.secret_references)}::jsonb, ${row.shareable},
      ${row.route_through_gateway}, ${row.database_name}, ${row.database_password_sealed}, ${row.createdBy},
      ${row.now}, ${row.now})
    on conflict (workspace_id, name) where deleted_at is null do nothing
    returning id`.execute(tx);
  return rows.length > 0;
}

export async function findDeployment(
  sql: Sql,
  workspaceId: string,
  id: string,
  options: { deleted?: boolean } = {},
): Promise<Deployment | undefined> {
  const gone = options.deleted ? raw`true` : raw`deleted_at is null`;
  const { rows } = await raw<Deployment>`
    select * from deployments where id = ${id} and workspace_id = ${workspaceId} and ${gone}`.execute(sql);
  return rows[0];
}

/** Waits for a change of the deployment in progress. */
export async function lockDeployment(
  tx: Sql,
  workspaceId: string,
  id: string,
): Promise<Deployment | undefined> {
  const { rows } = await raw<Deployment>`
    select * from deployments where id = ${id} and workspace_id = ${workspaceId} and deleted_at is null
    for update`.execute(tx);
  return rows[0];
}

/** The exact name first, because clients look for it on the first page only. */
export async function listDeployments(
  sql: Sql,
  workspaceId: string,
  filter: DeploymentFilter,
): Promise<Deployment[]> {
  const conditions = [raw`workspace_id = ${workspaceId}`, raw`deleted_at is null`];
  if (filter.name !== undefined) conditions.push(raw`name = ${filter.name}`);
  if (filter.nameContains) {
    conditions.push(raw`position(lower(${filter.nameContains}) in lower(name)) > 0`);
  }
  if (filter.deploymentType !== undefined) {
    conditions.push(raw`source_config->>'deployment_type' = ${filter.deploymentType}`);
  }
  if (filter.hasListener !== undefined) {
    conditions.push(raw`(source_config->>'listener_id' is not null) = ${filter.hasListener}`);
  }
  if (filter.ids !== undefined) conditions.push(raw`id = any(${filter.ids}::uuid[])`);
  if (filter.slug !== undefined) conditions.push(raw`slug = ${filter.slug}`);
  if (filter.status !== undefined) {
    const failed = raw`(active_revision_id is null and exists (select 1 from revisions r
      where r.id = latest_revision_id and r.status = any(${failedStatuses}::text[])))`;
    const ready = raw`((active_revision_id is not null or database_ready) and not ${failed})`;
    const waiting = raw`not (${ready} or ${failed})`;
    const matches = { READY: ready, FAILED: failed, AWAITING_DATABASE: waiting }[filter.status] ?? raw`false`;
    conditions.push(matches);
  }
  const { rows } = await raw<Deployment>`
    select * from deployments where ${raw.join(conditions, raw` and `)}
    order by (lower(name) = lower(${filter.nameContains ?? ""})) desc, created_at desc, id desc
    limit ${filter.limit} offset ${filter.offset}`.execute(sql);
  return rows;
}

export async function saveDeployment(
  tx: Sql,
  row: Pick<
    Deployment,
    | "id"
    | "display_name"
    | "source_config"
    | "source_revision_config"
    | "tracked_repo_ref"
    | "secrets_sealed"
    | "secret_references"
    | "route_through_gateway"
    | "deployment_tier"
    | "compute_tier"
    | "database_tier"
  >,
  now: Date,
): Promise<void> {
  await raw`
    update deployments set display_name = ${row.display_name}, source_config = ${JSON.stringify(row.source_config)}::jsonb,
      source_revision_config = ${JSON.stringify(row.source_revision_config)}::jsonb,
      tracked_repo_ref = ${row.tracked_repo_ref}, secrets_sealed = ${row.secrets_sealed},
      secret_references = ${row.secret_references === null ? null : JSON.stringify(row.secret_references)}::jsonb,
      route_through_gateway = ${row.route_through_gateway}, deployment_tier = ${row.deployment_tier},
      compute_tier = ${row.compute_tier}, database_tier = ${row.database_tier}, updated_at = ${now}
    where id = ${row.id}`.execute(tx);
}

export async function takeRevisionNumber(tx: Sql, id: string): Promise<number> {
  const { rows } = await raw<{ number: number }>`
    update deployments set next_revision_number = next_revision_number + 1 where id = ${id}
    returning next_revision_number - 1 as number`.execute(tx);
  return rows[0]!.number;
}

export async function markLatest(tx: Sql, id: string, revisionId: string, now: Date): Promise<void> {
  await raw`update deployments set latest_revision_id = ${revisionId}, updated_at = ${now} where id = ${id}`.execute(
    tx,
  );
}

export async function saveTracingProject(sql: Sql, id: string, projectId: string): Promise<void> {
  await raw`update deployments set tracer_session_id = ${projectId} where id = ${id}`.execute(sql);
}

/** What its owner wants of it from now on. */
export async function saveDesiredState(
  tx: Sql,
  id: string,
  { state, restart, sleep }: { state: DesiredState; restart: boolean; sleep: SleepState },
  now: Date,
): Promise<void> {
  await raw`
    update deployments set desired_state = ${state}, stopped_at = ${state === "stopped" ? now : null},
      restart_requested_at = ${restart ? now : raw`restart_requested_at`}, updated_at = ${now},
      sleep_state = ${sleep}, sleep_changed_at = ${now}, sleep_settled = false, wake_at = null
    where id = ${id}`.execute(tx);
}

/** With its previews. False when it was gone already. */
export async function markDeleted(
  tx: Sql,
  workspaceId: string,
  id: string,
  as: { now: Date; purgeAfter: Date; deleteTracingProject: boolean },
): Promise<boolean> {
  const { rows } = await raw`
    update deployments set deleted_at = ${as.now}, purge_after = ${as.purgeAfter}, updated_at = ${as.now},
      delete_tracing_project = ${as.deleteTracingProject}
    where (id = ${id} or preview_of = ${id}) and workspace_id = ${workspaceId} and deleted_at is null
    returning id`.execute(tx);
  return rows.length > 0;
}

export async function markPurgeable(tx: Sql, id: string, now: Date): Promise<void> {
  await raw`update deployments set purge_after = ${now} where id = ${id} and deleted_at is not null`.execute(
    tx,
  );
}

export async function countDeployments(sql: Sql, workspaceId: string): Promise<number> {
  const { rows } = await raw<{ count: number }>`
    select count(*)::int as count from deployments where deleted_at is null and workspace_id = ${workspaceId}
      and source_config->>'deployment_type' in ('dev_free', 'dev_free_zero')`.execute(sql);
  return rows[0]!.count;
}

/** Those that build on a push: made for a repository, or built from one since. */
export async function listTracking(sql: Sql, workspaceId?: string): Promise<Deployment[]> {
  const where = workspaceId === undefined ? raw`true` : raw`workspace_id = ${workspaceId}`;
  const { rows } = await raw<Deployment>`
    select * from deployments d where deleted_at is null
      and (source = 'github' or exists (
        select 1 from revisions r where r.id = d.latest_revision_id and r.source = 'github'))
      and (source_config->>'build_on_push')::boolean and ${where}
    order by id`.execute(sql);
  return rows;
}

export async function savePolledCommit(sql: Sql, id: string, sha: string): Promise<void> {
  await raw`update deployments set polled_commit_sha = ${sha} where id = ${id}`.execute(sql);
}

export async function countForIntegration(
  sql: Sql,
  workspaceId: string,
  integrationId: string,
): Promise<number> {
  const { rows } = await raw<{ count: number }>`
    select count(*)::int as count from deployments where workspace_id = ${workspaceId} and deleted_at is null
      and source_config->>'integration_id' = ${integrationId}`.execute(sql);
  return rows[0]!.count;
}
