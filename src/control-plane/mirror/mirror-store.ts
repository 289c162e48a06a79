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

/**
 * From now on what other leases write is refused. The last that begins counts, also with a lower number: a platform that
 * was restored counts from earlier. One that begins late has no answer of the platform yet and gets none; the other one
 * is refused once, and begins again.
 */
export async function saveEpoch(sql: Sql, epoch: number): Promise<void> {
  await raw`insert into mirror_state (epoch) values (${epoch})
    on conflict (only_row) do update set epoch = excluded.epoch`.execute(sql);
}

/** Up to here the platform has the log lines. */
export async function saveLogCursor(sql: Sql, cursor: number): Promise<void> {
  await raw`update mirror_state set log_cursor = ${cursor} where log_cursor <> ${cursor}`.execute(sql);
}

/** Whether this lease is still the last that began here; it stays so until the commit. */
export async function holdEpoch(tx: Sql, epoch: number): Promise<boolean> {
  const { rows } = await raw`select 1 from mirror_state where epoch = ${epoch} for share`.execute(tx);
  return rows.length > 0;
}

/** Wanted again, before its data has gone. False when that is about to go, or has gone. */
export async function reviveDeployment(
  tx: Sql,
  { id, name, slug }: { id: string; name: string; slug: string },
  { now, stillThere }: { now: Date; stillThere: Date },
): Promise<boolean> {
  const { rows } = await raw`
    update deployments set deleted_at = null, purge_after = null, name = ${name}, slug = ${slug}, updated_at = ${now}
    where id = ${id} and mirrored and deleted_at is not null and purge_after > ${stillThere} returning id`.execute(
    tx,
  );
  return rows.length > 0;
}

export type LocalRevision = { id: string; number: number; status: RevisionStatus };

export async function listLocalRevisions(sql: Sql, deploymentId: string): Promise<LocalRevision[]> {
  const { rows } = await raw<LocalRevision>`
    select id, number, status from revisions where deployment_id = ${deploymentId} order by number`.execute(
    sql,
  );
  return rows;
}
