import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type Upload = {
  object_path: string;
  deployment_id: string;
  token_hash: string;
  sha256: string | null;
  bytes: number | null;
};

export async function insertUpload(
  sql: Sql,
  row: {
    objectPath: string;
    deploymentId: string;
    workspaceId: string;
    tokenHash: string;
    now: Date;
    expiresAt: Date;
  },
): Promise<void> {
  await raw`
    insert into source_uploads (object_path, deployment_id, workspace_id, token_hash, created_at, expires_at)
    values (${row.objectPath}, ${row.deploymentId}, ${row.workspaceId}, ${row.tokenHash}, ${row.now}, ${row.expiresAt})`.execute(
    sql,
  );
}

/** One that may still be filled. */
export async function findOpenUpload(
  sql: Sql,
  objectPath: string,
  tokenHash: string,
  now: Date,
): Promise<Upload | undefined> {
  const { rows } = await raw<Upload>`
    select u.object_path, u.deployment_id, u.token_hash, u.sha256, u.bytes from source_uploads u
    join deployments d on d.id = u.deployment_id and d.deleted_at is null
    where u.object_path = ${objectPath} and u.token_hash = ${tokenHash} and u.expires_at > ${now}
      and u.sha256 is null`.execute(sql);
  return rows[0];
}

/** False when somebody else has filled it meanwhile. */
export async function completeUpload(
  sql: Sql,
  objectPath: string,
  content: { sha256: string; bytes: number },
): Promise<boolean> {
  const { rows } = await raw`
    update source_uploads set sha256 = ${content.sha256}, bytes = ${content.bytes}
    where object_path = ${objectPath} and sha256 is null returning object_path`.execute(sql);
  return rows.length > 0;
}

/** A filled one of this deployment. */
export async function findUpload(
  sql: Sql,
  deploymentId: string,
  objectPath: string,
): Promise<Upload | undefined> {
  const { rows } = await raw<Upload>`
    select object_path, deployment_id, token_hash, sha256, bytes from source_uploads
    where object_path = ${objectPath} and deployment_id = ${deploymentId} and sha256 is not null`.execute(
    sql,
  );
  return rows[0];
}

/** Never filled and out of date. */
export async function deleteExpiredUploads(sql: Sql, now: Date): Promise<void> {
  await raw`delete from source_uploads where sha256 is null and expires_at < ${now}`.execute(sql);
}
