import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import type { Revision } from "../desired-state/revision.ts";

export async function readDeployment(sql: Sql, id: string): Promise<Deployment | undefined> {
  const { rows } = await raw<Deployment>`select * from deployments where id = ${id}`.execute(sql);
  return rows[0];
}

export async function readRelevantRevisions(sql: Sql, deployment: Deployment): Promise<Revision[]> {
  const kept = [deployment.active_revision_id, deployment.previous_revision_id].filter((id) => id !== null);
  const { rows } = await raw<Revision>`
    select * from revisions where deployment_id = ${deployment.id} and (
      status in ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING')
      or id = any(${kept}::uuid[]))
    order by number`.execute(sql);
  return rows;
}

/**
 * Every deployment that has something on its way, serving or running, but for those that listeners run; of those asleep,
 * what is due before `soon`. `settled`: one server of what is active is ready, or none is wanted and none is there, and
 * nothing else is on its way. Such a deployment has nothing to be done, unless its key for traces has grown old.
 */
export async function listBusyDeployments(sql: Sql, soon: Date): Promise<{ id: string; settled: boolean }[]> {
  const { rows } = await raw<{ id: string; settled: boolean }>`
    with opened as (
      select distinct deployment_id from revisions where status in
        ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING')
    ), live as (
      select deployment_id, count(*) as servers, min(state) as state, min(revision_id::text)::uuid as revision_id,
        min(started_at) as started_at
      from deployment_instances where state <> 'exited' group by deployment_id
    )
    select d.id, d.deleted_at is null and o.deployment_id is null and case d.desired_state
        when 'running' then coalesce(d.sleep_state = 'awake' and l.servers = 1 and l.state = 'ready'
          and l.revision_id = d.active_revision_id and l.started_at >= coalesce(d.restart_requested_at, l.started_at)
          and exists (select 1 from revisions r where r.id = d.active_revision_id and r.condition is null), false)
        else l.servers is null end as settled
    from deployments d left join opened o on o.deployment_id = d.id left join live l on l.deployment_id = d.id
    where (d.source_config->>'listener_id' is null or (d.deleted_at is not null and not d.remote_held)) and (
      (d.deleted_at is null and d.active_revision_id is not null and (d.sleep_state <> 'asleep'
        or not d.sleep_settled or d.desired_state <> 'running' or d.wake_at <= ${soon}))
      or o.deployment_id is not null
      or (d.deleted_at is not null and d.delete_tracing_project)
      or l.deployment_id is not null)`.execute(sql);
  return rows;
}

export async function markDatabaseReady(sql: Sql, id: string): Promise<void> {
  await raw`update deployments set database_ready = true where id = ${id}`.execute(sql);
}

/** Of every deployment that still has one; a role has the name of its database. */
export async function listDatabaseNames(sql: Sql): Promise<string[]> {
  const rows = await sql.selectFrom("deployments").select("database_name").execute();
  return rows.map(({ database_name }) => database_name);
}

export async function isNameTaken(sql: Sql, workspaceId: string, name: string): Promise<boolean> {
  const { rows } = await raw`
    select 1 from deployments where workspace_id = ${workspaceId} and name = ${name} and deleted_at is null`.execute(
    sql,
  );
  return rows.length > 0;
}

export async function forgetTraces(sql: Sql, id: string): Promise<void> {
  await raw`update deployments set delete_tracing_project = false where id = ${id}`.execute(sql);
}

/** False when the deployment is gone or another revision took over meanwhile. */
export async function switchActive(
  tx: Sql,
  move: { deploymentId: string; revisionId: string; instanceId: string },
  now: Date,
): Promise<boolean> {
  const { rows } = await raw`
    update deployments d set previous_revision_id = d.active_revision_id, active_revision_id = ${move.revisionId},
      switched_at = ${now}, updated_at = ${now}, sleep_state = 'awake', sleep_changed_at = ${now},
      sleep_settled = false, wake_at = null
    from revisions r, deployment_instances i
    where d.id = ${move.deploymentId} and d.deleted_at is null
      and r.id = ${move.revisionId} and r.status = 'DEPLOYING'
      and i.id = ${move.instanceId} and i.state = 'ready'
    returning d.id`.execute(tx);
  return rows.length > 0;
}

/** The one before is used up: a second death must not go back and forth. */
export async function restorePrevious(
  tx: Sql,
  move: { deploymentId: string; fromRevisionId: string; toRevisionId: string },
  now: Date,
): Promise<boolean> {
  const { rows } = await raw`
    update deployments set active_revision_id = ${move.toRevisionId}, previous_revision_id = null,
      switched_at = ${now}, updated_at = ${now}
    where id = ${move.deploymentId} and active_revision_id = ${move.fromRevisionId} and deleted_at is null
    returning id`.execute(tx);
  return rows.length > 0;
}

export async function listPurgeable(sql: Sql, now: Date): Promise<Deployment[]> {
  const { rows } = await raw<Deployment>`
    select * from deployments d where deleted_at is not null and purge_after <= ${now} and not remote_held
      and not exists (select 1 from deployment_instances i where i.deployment_id = d.id and i.state <> 'exited')
    limit 100`.execute(sql);
  return rows;
}

/** Whether it is deleted; it stays so until the commit. */
export async function holdDeleted(tx: Sql, id: string): Promise<boolean> {
  const { rows } = await raw`
    select 1 from deployments where id = ${id} and deleted_at is not null for share`.execute(tx);
  return rows.length > 0;
}

export async function purgeDeployment(sql: Sql, id: string): Promise<void> {
  await raw`delete from deployments where id = ${id} and deleted_at is not null`.execute(sql);
}
