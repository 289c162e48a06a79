import type { Sql } from "../../../platform/db/database.ts";
import { raw } from "../../../platform/db/raw.ts";
import type { BuildPod, BuildReport, LineBatch, OwnWork } from "./build-pod.ts";

const columns = raw`p.id, p.revision_id, r.deployment_id, r.workspace_id, p.token_sealed, p.work, p.report`;

/** False where the revision has one: another process was faster, and its build is followed. */
export async function insertBuildPod(
  sql: Sql,
  row: { id: string; revisionId: string; tokenSealed: string; work: OwnWork; now: Date },
): Promise<boolean> {
  const { rows } = await raw`
    insert into build_pods (id, revision_id, token_sealed, work, created_at)
    values (${row.id}, ${row.revisionId}, ${row.tokenSealed}, ${JSON.stringify(row.work)}::jsonb, ${row.now})
    on conflict (revision_id) do nothing returning id`.execute(sql);
  return rows.length > 0;
}

export async function findBuildPodOf(sql: Sql, revisionId: string): Promise<BuildPod | undefined> {
  const { rows } = await raw<BuildPod>`
    select ${columns} from build_pods p join revisions r on r.id = p.revision_id
    where p.revision_id = ${revisionId}`.execute(sql);
  return rows[0];
}

/** One whose build is still wanted and has not reported its end. */
export async function readOpenBuildPod(sql: Sql, id: string): Promise<BuildPod | undefined> {
  const { rows } = await raw<BuildPod>`
    select ${columns} from build_pods p join revisions r on r.id = p.revision_id
    where p.id = ${id} and p.report is null and r.status = 'BUILDING'`.execute(sql);
  return rows[0];
}

/** False when it has reported before: the first word counts. */
export async function saveBuildReport(sql: Sql, id: string, report: BuildReport): Promise<boolean> {
  const { rows } = await raw`
    update build_pods set report = ${JSON.stringify(report)}::jsonb
    where id = ${id} and report is null returning id`.execute(sql);
  return rows.length > 0;
}

/**
 * False when this batch, or a later one of the same process, was stored before. Only the last process is remembered: a
 * batch of the one before it that arrives late is stored, and a copy of it too.
 */
export async function takeBatch(tx: Sql, id: string, { sender, number }: LineBatch): Promise<boolean> {
  const { rows } = await raw`
    update build_pods set log_sender = ${sender}, log_batch = ${number}
    where id = ${id} and (log_sender is distinct from ${sender} or log_batch < ${number}) returning id`.execute(
    tx,
  );
  return rows.length > 0;
}

/** False when that is more than a build may store of its log. */
export async function countLogOf(
  tx: Sql,
  id: string,
  { lines, bytes, limits }: { lines: number; bytes: number; limits: { lines: number; bytes: number } },
): Promise<boolean> {
  const { rows } = await raw`
    update build_pods set log_lines = log_lines + ${lines}, log_bytes = log_bytes + ${bytes}
    where id = ${id} and log_lines + ${lines} <= ${limits.lines} and log_bytes + ${bytes} <= ${limits.bytes}
    returning id`.execute(tx);
  return rows.length > 0;
}

/** From here on nothing fits; false when that was so before. */
export async function endLogOf(tx: Sql, id: string, mostLines: number): Promise<boolean> {
  const { rows } = await raw`
    update build_pods set log_lines = ${mostLines + 1} where id = ${id} and log_lines <= ${mostLines}
    returning id`.execute(tx);
  return rows.length > 0;
}

export async function deleteBuildPod(sql: Sql, revisionId: string): Promise<void> {
  await raw`delete from build_pods where revision_id = ${revisionId}`.execute(sql);
}

/** Revisions of this deployment that have one. */
export async function listBuildPodsOf(sql: Sql, deploymentId: string): Promise<string[]> {
  const { rows } = await raw<{ revision_id: string }>`
    select p.revision_id from build_pods p join revisions r on r.id = p.revision_id
    where r.deployment_id = ${deploymentId}`.execute(sql);
  return rows.map((row) => row.revision_id);
}

export async function listBuildPodIds(sql: Sql): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`select id from build_pods`.execute(sql);
  return rows.map(({ id }) => id);
}

/** Revisions whose build is over, or not wanted any more. */
export async function listEndedBuildPods(sql: Sql): Promise<string[]> {
  const { rows } = await raw<{ revision_id: string }>`
    select p.revision_id from build_pods p join revisions r on r.id = p.revision_id
    where r.status not in ('AWAITING_BUILD', 'BUILDING')`.execute(sql);
  return rows.map((row) => row.revision_id);
}
