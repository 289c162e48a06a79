import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type Artifact = { key: string; path: string; bytes: number; uses_own_auth: boolean };
export type NewArtifact = Artifact & { workspace_id: string };

/** Found means used: what nobody asked for in a long time is removed. */
export async function takeArtifact(
  sql: Sql,
  workspaceId: string,
  key: string,
  now: Date,
): Promise<Artifact | undefined> {
  const { rows } = await raw<Artifact>`
    update build_artifacts set used_at = ${now}
    where key = ${key} and (workspace_id = ${workspaceId} or workspace_id is null)
    returning key, path, bytes, uses_own_auth`.execute(sql);
  return rows[0];
}

export async function insertArtifact(sql: Sql, artifact: NewArtifact, now: Date): Promise<void> {
  await raw`
    insert into build_artifacts (key, workspace_id, path, bytes, uses_own_auth, created_at, used_at)
    values (${artifact.key}, ${artifact.workspace_id}, ${artifact.path}, ${artifact.bytes}, ${artifact.uses_own_auth}, ${now}, ${now})
    on conflict (key) do update set path = excluded.path, bytes = excluded.bytes, used_at = excluded.used_at`.execute(
    sql,
  );
}

export async function deleteArtifact(sql: Sql, key: string): Promise<void> {
  await raw`delete from build_artifacts where key = ${key}`.execute(sql);
}

/** Not the artifact of anything active or on its way, and not among the newest revisions of a deployment. */
export async function listUnusedArtifacts(
  sql: Sql,
  usedBefore: Date,
  keepPerDeployment: number,
): Promise<Artifact[]> {
  const { rows } = await raw<Artifact>`
    select key, path, bytes, uses_own_auth from build_artifacts a
    where used_at < ${usedBefore} and not exists (
      select 1 from (
        select r.artifact_key, r.status, r.id, d.active_revision_id, d.previous_revision_id, d.deleted_at,
          row_number() over (partition by r.deployment_id order by r.number desc) as age
        from revisions r join deployments d on d.id = r.deployment_id where r.artifact_key = a.key) used
      where used.deleted_at is null and (used.age <= ${keepPerDeployment} or used.id = used.active_revision_id
        or used.id = used.previous_revision_id
        or used.status in ('BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING')))`.execute(sql);
  return rows;
}
