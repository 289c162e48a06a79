import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import type { RevisionStatus } from "../desired-state/revision.ts";

export type Mirrored = Pick<Deployment, "id" | "desired_state" | "deleted_at" | "purge_after"> & {
  mirrored_restart_at: Date | null;
  tracing_key_id: string | null;
};

/** Deployments of this database that come from the platform. */
export async function listMirrored(sql: Sql): Promise<Mirrored[]> {
  const { rows } = await raw<Mirrored>`
    select d.id, d.desired_state, d.deleted_at, d.purge_after, d.mirrored_restart_at, k.api_key_id as tracing_key_id
    from deployments d left join deployment_tracing_keys k on k.deployment_id = d.id where d.mirrored`.execute(
    sql,
  );
  return rows;
}

export async function markMirrored(tx: Sql, id: string): Promise<void> {
  await raw`update deployments set mirrored = true where id = ${id}`.execute(tx);
}

/** Which of the platform's requests for a restart this one follows. */
export async function saveFollowedRestart(tx: Sql, id: string, at: Date): Promise<void> {
  await raw`update deployments set mirrored_restart_at = ${at} where id = ${id}`.execute(tx);
}

export async function savePurgeAfter(tx: Sql, id: string, at: Date): Promise<void> {
  await raw`update deployments set purge_after = ${at} where id = ${id} and deleted_at is not null`.execute(
    tx,
  );
}

export type LocalRevision = { id: string; number: number; status: RevisionStatus };

export async function listLocalRevisions(sql: Sql, deploymentId: string): Promise<LocalRevision[]> {
  const { rows } = await raw<LocalRevision>`
    select id, number, status from revisions where deployment_id = ${deploymentId} order by number`.execute(
    sql,
  );
  return rows;
}
