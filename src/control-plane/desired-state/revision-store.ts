import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Failure } from "./failure.ts";
import {
  progressOf,
  type Revision,
  type RevisionCondition,
  type RevisionEvent,
  type RevisionStatus,
  statusesBefore,
} from "./revision.ts";

/** Wakes the reconciler and watchers; the payload is the deployment's id. */
export const deploymentChannel = "treadle_deployments";

/** Its messages are ids of listeners: something of a deployment that names them has changed. */
export const listenerChannel = "treadle_listeners";

export async function announceDeployment(sql: Sql, deploymentId: string): Promise<void> {
  await raw`select pg_notify(${deploymentChannel}, ${deploymentId}), (
    select pg_notify(${listenerChannel}, d.source_config->>'listener_id') from deployments d
    where d.id = ${deploymentId} and d.source_config->>'listener_id' is not null)`.execute(sql);
}

export async function insertRevision(
  tx: Sql,
  row: Omit<
    Revision,
    "status_message" | "condition" | "failure" | "progress" | "created_at" | "updated_at" | "uses_own_auth"
  > & {
    createdBy: string | null;
    now: Date;
  },
): Promise<void> {
  await raw`
    insert into revisions (id, deployment_id, workspace_id, number, status, progress, source, source_revision_config,
      build_config, repo_commit_sha, artifact_key, image_reference, image_digest, secrets_sealed, redeploy_of,
      created_by, created_at, updated_at)
    values (${row.id}, ${row.deployment_id}, ${row.workspace_id}, ${row.number}, ${row.status},
      ${progressOf(row.status)}, ${row.source}, ${JSON.stringify(row.source_revision_config)}::jsonb,
      ${JSON.stringify(row.build_config)}::jsonb, ${row.repo_commit_sha}, ${row.artifact_key},
      ${row.image_reference}, ${row.image_digest}, ${row.secrets_sealed},
      ${row.redeploy_of}, ${row.createdBy}, ${row.now}, ${row.now})`.execute(tx);
}

export async function findRevision(
  sql: Sql,
  workspaceId: string,
  deploymentId: string,
  id: string,
): Promise<Revision | undefined> {
  const { rows } = await raw<Revision>`
    select r.* from revisions r join deployments d on d.id = r.deployment_id
    where r.id = ${id} and r.deployment_id = ${deploymentId} and d.workspace_id = ${workspaceId}
      and d.deleted_at is null`.execute(sql);
  return rows[0];
}

export async function readRevision(sql: Sql, id: string): Promise<Revision | undefined> {
  const { rows } = await raw<Revision>`select * from revisions where id = ${id}`.execute(sql);
  return rows[0];
}

export async function readRevisions(sql: Sql, ids: string[]): Promise<Revision[]> {
  if (ids.length === 0) return [];
  const { rows } = await raw<Revision>`select * from revisions where id = any(${ids}::uuid[])`.execute(sql);
  return rows;
}

export async function listRevisions(
  sql: Sql,
  deploymentId: string,
  filter: { limit: number; offset: number; statuses?: string[] | undefined },
): Promise<Revision[]> {
  const status = filter.statuses ? raw`status = any(${filter.statuses}::text[])` : raw`true`;
  const { rows } = await raw<Revision>`
    select * from revisions where deployment_id = ${deploymentId} and ${status}
    order by created_at desc, number desc limit ${filter.limit} offset ${filter.offset}`.execute(sql);
  return rows;
}

export type RevisionMove = {
  status: RevisionStatus;
  message: string;
  /** With a status of failure: why, in the project's own words. */
  failure?: Failure | null;
  /** Only from here; by default from everywhere the transition table permits. */
  from?: RevisionStatus[];
};

/** False when the revision has moved elsewhere meanwhile; then nothing was written. */
export async function moveRevision(tx: Sql, id: string, move: RevisionMove, now: Date): Promise<boolean> {
  const from = move.from ?? statusesBefore(move.status);
  const { rows } = await raw<{ deployment_id: string }>`
    update revisions set status = ${move.status}, status_message = ${move.message}, condition = null,
      failure = ${move.failure ? JSON.stringify(move.failure) : null}::jsonb, progress = ${progressOf(move.status)}, updated_at = ${now}
    where id = ${id} and status = any(${from}::text[]) returning deployment_id`.execute(tx);
  if (rows.length === 0) return false;
  await insertEvent(tx, id, { kind: "status", status: move.status, message: move.message }, now);
  await announceDeployment(tx, rows[0]!.deployment_id);
  return true;
}

export async function insertEvent(
  sql: Sql,
  revisionId: string,
  event: { kind: string; status: RevisionStatus | null; message: string },
  now: Date,
): Promise<void> {
  await raw`insert into revision_events (revision_id, kind, status, message, created_at)
    values (${revisionId}, ${event.kind}, ${event.status}, ${event.message}, ${now})`.execute(sql);
}

/** A step within a status. */
export async function noteProgress(
  tx: Sql,
  revisionId: string,
  note: { kind: string; message: string; progress?: number; condition?: RevisionCondition | null },
  now: Date,
): Promise<void> {
  const { rows } = await raw<{ deployment_id: string }>`
    update revisions set status_message = ${note.message}, condition = ${note.condition ?? null},
      progress = coalesce(${note.progress ?? null}, progress),
      updated_at = ${now}
    where id = ${revisionId} returning deployment_id`.execute(tx);
  if (rows.length === 0) return;
  await insertEvent(tx, revisionId, { kind: note.kind, status: null, message: note.message }, now);
  await announceDeployment(tx, rows[0]!.deployment_id);
}

/** Why the server of a revision that is being deployed does not serve yet; the same reason is recorded once. */
export async function noteWaiting(tx: Sql, revisionId: string, problem: string, now: Date): Promise<void> {
  const message = `Starting the server: ${problem.replace(/\.$/, "")}.`;
  const { rows } = await raw<{ deployment_id: string }>`
    update revisions set status_message = ${message}, updated_at = ${now}
    where id = ${revisionId} and status = 'DEPLOYING' and status_message is distinct from ${message}
    returning deployment_id`.execute(tx);
  if (rows.length === 0) return;
  await insertEvent(tx, revisionId, { kind: "waiting", status: null, message }, now);
  await announceDeployment(tx, rows[0]!.deployment_id);
}

export async function saveBuilt(
  tx: Sql,
  id: string,
  built: { artifactKey: string; commitSha: string | null; usesOwnAuth: boolean },
): Promise<void> {
  await raw`update revisions set artifact_key = ${built.artifactKey}, uses_own_auth = ${built.usesOwnAuth},
    repo_commit_sha = coalesce(${built.commitSha}, repo_commit_sha) where id = ${id}`.execute(tx);
}

export async function saveCommit(sql: Sql, id: string, commitSha: string): Promise<void> {
  await raw`update revisions set repo_commit_sha = ${commitSha} where id = ${id}`.execute(sql);
}

export async function saveImage(
  sql: Sql,
  id: string,
  image: { reference: string; digest: string },
): Promise<void> {
  await raw`update revisions set image_reference = ${image.reference}, image_digest = ${image.digest}
    where id = ${id} and (image_reference, image_digest) is distinct from (${image.reference}, ${image.digest})`.execute(
    sql,
  );
}

export async function listEvents(sql: Sql, revisionIds: string[], afterId = 0): Promise<RevisionEvent[]> {
  if (revisionIds.length === 0) return [];
  const { rows } = await raw<RevisionEvent>`
    select * from revision_events where revision_id = any(${revisionIds}::uuid[]) and id > ${afterId}
    order by id limit 1000`.execute(sql);
  return rows;
}

/** A server in a crash loop writes one with every start; the newest are enough. */
export async function pruneEvents(sql: Sql, keepPerRevision: number): Promise<void> {
  await raw`
    delete from revision_events e using (
      select id, row_number() over (partition by revision_id order by id desc) as place from revision_events) ranked
    where ranked.id = e.id and ranked.place > ${keepPerRevision}`.execute(sql);
}
