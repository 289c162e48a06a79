import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import type { Revision } from "../desired-state/revision.ts";

const ofListener = (listenerId: string) => raw`source_config->>'listener_id' = ${listenerId}`;

export async function listWanted(sql: Sql, workspaceId: string, listenerId: string): Promise<Deployment[]> {
  const { rows } = await raw<Deployment>`
    select * from deployments where ${ofListener(listenerId)} and workspace_id = ${workspaceId}
      and deleted_at is null order by id`.execute(sql);
  return rows;
}

/** Those on their way, and those that serve. */
export async function listWantedRevisions(sql: Sql, deployments: readonly Deployment[]): Promise<Revision[]> {
  if (deployments.length === 0) return [];
  const active = deployments.map((row) => row.active_revision_id).filter((id) => id !== null);
  const { rows } = await raw<Revision>`
    select * from revisions where deployment_id = any(${deployments.map(({ id }) => id)}::uuid[]) and (
      status in ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING')
      or id = any(${active}::uuid[]))
    order by deployment_id, number`.execute(sql);
  return rows;
}

export async function listDeleted(
  sql: Sql,
  workspaceId: string,
  listenerId: string,
): Promise<{ id: string; purge_after: Date }[]> {
  const { rows } = await raw<{ id: string; purge_after: Date }>`
    select id, coalesce(purge_after, deleted_at) as purge_after from deployments
    where ${ofListener(listenerId)} and workspace_id = ${workspaceId} and deleted_at is not null and remote_held
    order by id`.execute(sql);
  return rows;
}

/** From now on the listener has something of them, until it says that it has not. */
export async function markHeld(tx: Sql, deploymentIds: readonly string[]): Promise<void> {
  if (deploymentIds.length === 0) return;
  await raw`update deployments set remote_held = true
    where id = any(${deploymentIds}::uuid[]) and not remote_held`.execute(tx);
}

/** A revision that this listener is to run. */
export async function findGiven(
  sql: Sql,
  of: { workspaceId: string; listenerId: string; revisionId: string },
): Promise<{ deployment: Deployment; revision: Revision } | undefined> {
  const { rows } = await raw<Revision>`
    select r.* from revisions r join deployments d on d.id = r.deployment_id
    where r.id = ${of.revisionId} and d.workspace_id = ${of.workspaceId}
      and d.source_config->>'listener_id' = ${of.listenerId} and d.deleted_at is null`.execute(sql);
  const [revision] = rows;
  if (!revision) return undefined;
  const { rows: deployments } = await raw<Deployment>`
    select * from deployments where id = ${revision.deployment_id}`.execute(sql);
  return { deployment: deployments[0]!, revision };
}
