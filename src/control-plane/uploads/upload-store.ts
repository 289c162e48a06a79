import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type Upload = {
  object_path: string;
  deployment_id: string;
  token_hash: string;
  sha256: string | null;
  bytes: number | null;
  /** Which of the requests to its URL has filled it; null for the first. */
  attempt: number | null;
};

const columns = raw`u.object_path, u.deployment_id, u.token_hash, u.sha256, u.bytes, u.attempt`;

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

/** Whoever has its URL may still fill it, or send again what it was filled with. */
export async function findValidUpload(
  sql: Sql,
  objectPath: string,
  tokenHash: string,
  now: Date,
): Promise<Upload | undefined> {
  const { rows } = await raw<Upload>`
    select ${columns} from source_uploads u
    join deployments d on d.id = u.deployment_id and d.deleted_at is null
    where u.object_path = ${objectPath} and u.token_hash = ${tokenHash} and u.expires_at > ${now}`.execute(
    sql,
  );
  return rows[0];
}

/** Each request has a number of its own, and with it a blob. */
export async function beginAttempt(sql: Sql, objectPath: string): Promise<number | undefined> {
  const { rows } = await raw<{ attempts: number }>`
    update source_uploads set attempts = attempts + 1 where object_path = ${objectPath} and sha256 is null
    returning attempts`.execute(sql);
  return rows[0]?.attempts;
}

/** False when another request has filled it meanwhile. */
export async function completeUpload(
  sql: Sql,
  objectPath: string,
  content: { sha256: string; bytes: number; attempt: number },
): Promise<boolean> {
  const { rows } = await raw`
    update source_uploads set sha256 = ${content.sha256}, bytes = ${content.bytes}, attempt = ${content.attempt}
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
    select ${columns} from source_uploads u
    where u.object_path = ${objectPath} and u.deployment_id = ${deploymentId} and u.sha256 is not null`.execute(
    sql,
  );
  return rows[0];
}

/** The same, and it is not removed before the transaction ends. */
export async function holdUpload(
  tx: Sql,
  deploymentId: string,
  objectPath: string,
): Promise<Upload | undefined> {
  const { rows } = await raw<Upload>`
    select ${columns} from source_uploads u
    where u.object_path = ${objectPath} and u.deployment_id = ${deploymentId} and u.sha256 is not null
    for share`.execute(tx);
  return rows[0];
}

/** Those of the paths that were filled. */
export async function listFilledUploads(
  sql: Sql,
  paths: readonly string[],
): Promise<Pick<Upload, "object_path" | "attempt">[]> {
  const { rows } = await raw<Pick<Upload, "object_path" | "attempt">>`
    select object_path, attempt from source_uploads
    where object_path = any(${[...paths]}::text[]) and sha256 is not null`.execute(sql);
  return rows;
}

/** Filled before, and no revision was seen to use it. */
export async function listUnusedUploads(sql: Sql, before: Date, limit: number): Promise<string[]> {
  const { rows } = await raw<{ object_path: string }>`
    select object_path from source_uploads where sha256 is not null and not is_used and expires_at < ${before}
    order by expires_at limit ${limit}`.execute(sql);
  return rows.map((row) => row.object_path);
}

/**
 * Whether a revision or its deployment names it; noted, so that it is not asked again. Locks it: what is being named
 * at this moment is seen by the next statement.
 */
export async function noteUse(tx: Sql, objectPath: string): Promise<boolean> {
  await raw`select 1 from source_uploads where object_path = ${objectPath} for update`.execute(tx);
  const { rows } = await raw`
    update source_uploads u set is_used = true where object_path = ${objectPath} and (
      exists (select 1 from revisions r where r.deployment_id = u.deployment_id
        and r.source_revision_config ->> 'source_tarball_path' = u.object_path)
      or exists (select 1 from deployments d where d.id = u.deployment_id
        and d.source_revision_config ->> 'source_tarball_path' = u.object_path))
    returning object_path`.execute(tx);
  return rows.length > 0;
}

/** Undefined when it is gone already. */
export async function deleteUpload(
  tx: Sql,
  objectPath: string,
): Promise<Pick<Upload, "attempt"> | undefined> {
  const { rows } = await raw<Pick<Upload, "attempt">>`
    delete from source_uploads where object_path = ${objectPath} returning attempt`.execute(tx);
  return rows[0];
}

/** Never filled and out of date. */
export async function listExpiredUploads(sql: Sql, now: Date): Promise<string[]> {
  const { rows } = await raw<{ object_path: string }>`
    select object_path from source_uploads where sha256 is null and expires_at < ${now}
    order by expires_at limit 1000`.execute(sql);
  return rows.map((row) => row.object_path);
}

/** False when it has been filled or removed meanwhile. */
export async function deleteUnfilledUpload(tx: Sql, objectPath: string): Promise<boolean> {
  const { rows } = await raw`
    delete from source_uploads where object_path = ${objectPath} and sha256 is null
    returning object_path`.execute(tx);
  return rows.length > 0;
}

export async function deleteUploadsOf(sql: Sql, deploymentId: string): Promise<void> {
  await raw`delete from source_uploads where deployment_id = ${deploymentId}`.execute(sql);
}
