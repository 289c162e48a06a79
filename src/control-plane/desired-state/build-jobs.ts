import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { cancelByKey, enqueue, unfinishedKeys } from "../../platform/jobs/job-queue.ts";
import type { Revision } from "./revision.ts";

/** A build of a revision, as a job for any process that may build. Its key is the revision. */
export const buildJobKind = "control_plane.build";

export type BuildPayload = { revision_id: string };

/**
 * An attempt fails only when its process or the database is lost, which is not the project's fault. A failed build does
 * not fail the job.
 */
const maxAttempts = 100;

/** Part of the caller's transaction. A revision has one build at a time, and none once it has left these statuses. */
export async function enqueueBuild(tx: Sql, revisionId: string): Promise<void> {
  const { rows } = await raw<{ workspace_id: string }>`
    select workspace_id from revisions
    where id = ${revisionId} and status in ('AWAITING_BUILD', 'BUILDING') for update`.execute(tx);
  if (rows.length === 0) return;
  const payload: BuildPayload = { revision_id: revisionId };
  const workspaceId = rows[0]!.workspace_id;
  await enqueue(tx, { kind: buildJobKind, payload, idempotencyKey: revisionId, workspaceId, maxAttempts });
}

/** The process that builds it is notified and stops; what it still tries to store is refused. */
export function cancelBuild(tx: Sql, revisionId: string): Promise<void> {
  return cancelByKey(tx, buildJobKind, revisionId);
}

/** Those of the revisions whose build is queued or running, in any process. */
export function findBuilding(sql: Sql, revisions: readonly Revision[]): Promise<ReadonlySet<string>> {
  const due = revisions.filter(({ status }) => status === "AWAITING_BUILD" || status === "BUILDING");
  return unfinishedKeys(
    sql,
    buildJobKind,
    due.map(({ id }) => id),
  );
}
