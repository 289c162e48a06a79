import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type Artifact = {
  key: string;
  /** Where it is on the machine it was built on. */
  path: string;
  bytes: number;
  uses_own_auth: boolean;
  /** Of what is in the storage; null when nothing is. */
  sha256: string | null;
  packed_bytes: number | null;
  /** Which of the blobs of this key; null for one that an earlier version stored. */
  blob_id: string | null;
};
export type NewArtifact = Artifact & { workspace_id: string };

/** Finding it counts as a use: what was not used for a long time is removed. */
export async function takeArtifact(
  sql: Sql,
  workspaceId: string,
  key: string,
  now: Date,
): Promise<Artifact | undefined> {
  const { rows } = await raw<Artifact>`
    update build_artifacts set used_at = ${now}
    where key = ${key} and (workspace_id = ${workspaceId} or workspace_id is null)
    returning key, path, bytes, uses_own_auth, sha256, packed_bytes, blob_id`.execute(sql);
  return rows[0];
}

/** What is in the storage already stays as it is, and is what others find: false for another one of the same key. */
export async function insertArtifact(sql: Sql, artifact: NewArtifact, now: Date): Promise<boolean> {
  const { rows } = await raw<{ is_own: boolean }>`
    insert into build_artifacts as a
      (key, workspace_id, path, bytes, uses_own_auth, sha256, packed_bytes, blob_id, created_at, used_at)
    values (${artifact.key}, ${artifact.workspace_id}, ${artifact.path}, ${artifact.bytes},
      ${artifact.uses_own_auth}, ${artifact.sha256}, ${artifact.packed_bytes}, ${artifact.blob_id}::uuid, ${now}, ${now})
    on conflict (key) do update set path = excluded.path, used_at = excluded.used_at,
      bytes = case when a.sha256 is null then excluded.bytes else a.bytes end,
      packed_bytes = case when a.sha256 is null then excluded.packed_bytes else a.packed_bytes end,
      blob_id = case when a.sha256 is null then excluded.blob_id else a.blob_id end,
      sha256 = coalesce(a.sha256, excluded.sha256)
    returning blob_id is not distinct from ${artifact.blob_id}::uuid as is_own`.execute(sql);
  return rows[0]!.is_own;
}

/** Null when it was used in the last ten minutes: another deployment may just have found it. Otherwise what was deleted. */
export async function deleteIdleArtifact(tx: Sql, key: string): Promise<{ blob_id: string | null } | null> {
  const deleted = await raw<{ blob_id: string | null }>`
    delete from build_artifacts where key = ${key} and used_at < now() - interval '10 minutes'
    returning blob_id`.execute(tx);
  const { rows } = await raw`select 1 from build_artifacts where key = ${key}`.execute(tx);
  return rows.length === 0 ? (deleted.rows[0] ?? { blob_id: null }) : null;
}

/** Those of the keys whose artifact is in the storage. */
export async function listStoredArtifacts(
  sql: Sql,
  keys: readonly string[],
): Promise<Pick<Artifact, "key" | "blob_id">[]> {
  const { rows } = await raw<Pick<Artifact, "key" | "blob_id">>`
    select key, blob_id from build_artifacts
    where key = any(${[...keys]}::text[]) and sha256 is not null`.execute(sql);
  return rows;
}

/** Only while it is what was seen; false when somebody has stored another one meanwhile, or removed it. */
export async function deleteArtifactAsSeen(
  sql: Sql,
  { key, sha256, blob_id: blobId }: Pick<Artifact, "key" | "sha256" | "blob_id">,
): Promise<boolean> {
  const { rows } = await raw`
    delete from build_artifacts where key = ${key} and sha256 is not distinct from ${sha256}::text
      and blob_id is not distinct from ${blobId}::uuid
    returning key`.execute(sql);
  return rows.length > 0;
}

/** Not the artifact of anything active or on its way, and not among the newest revisions of a deployment. */
export async function listUnusedArtifacts(
  sql: Sql,
  usedBefore: Date,
  keepPerDeployment: number,
): Promise<Artifact[]> {
  const { rows } = await raw<Artifact>`
    select key, path, bytes, uses_own_auth, sha256, packed_bytes, blob_id from build_artifacts a
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

/** Of those with a row: their size, and whether a server runs on them. */
export async function listArtifactUses(
  sql: Sql,
  keys: readonly string[],
): Promise<Map<string, { bytes: number; runs: boolean }>> {
  const { rows } = await raw<{ key: string; bytes: number; runs: boolean }>`
    select a.key, a.bytes, exists (
      select 1 from deployment_instances i join revisions r on r.id = i.revision_id
      where i.state <> 'exited' and r.artifact_key = a.key) as runs
    from build_artifacts a where a.key = any(${[...keys]}::text[])`.execute(sql);
  return new Map(rows.map(({ key, bytes, runs }) => [key, { bytes: Number(bytes), runs }]));
}

/**
 * The keys of what was built for this deployment alone, except those used in the last ten minutes, which another
 * deployment may just have found. Includes keys whose row is already deleted: the process that deleted it may have died
 * before it deleted the blob.
 */
export async function listArtifactsOf(sql: Sql, deploymentId: string): Promise<string[]> {
  const { rows } = await raw<{ key: string }>`
    select distinct r.artifact_key as key from revisions r
    where r.deployment_id = ${deploymentId} and r.artifact_key is not null
      and not exists (select 1 from build_artifacts a
        where a.key = r.artifact_key and a.used_at >= now() - interval '10 minutes')
      and not exists (select 1 from revisions other where other.artifact_key = r.artifact_key
        and other.deployment_id <> ${deploymentId})`.execute(sql);
  return rows.map(({ key }) => key);
}
