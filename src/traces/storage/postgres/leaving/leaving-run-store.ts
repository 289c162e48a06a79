import type { Database, Sql, Statement } from "../../../../platform/db/database.ts";
import { raw } from "../../../../platform/db/raw.ts";
import { timeTextSql } from "../../../runs/run.ts";
import type { LeavingRun } from "./leaving-run.ts";

/** Where a run is, and how large. */
export type LeavingKey = { id: string; workspace_id: string; start_time: string; bytes: number };
/** The last run of a project that was looked at. */
export type LeavingCursor = { startTime: string; id: string };

const sizes = ["inputs", "outputs", "error", "extra", "events", "serialized"]
  .map((name) => `coalesce(octet_length(${name}), 0)`)
  .join(" + ");

/** Of projects that are not deleted: the runs of the others are being removed. */
export async function countLeaving(sql: Sql): Promise<number> {
  const { rows } = await raw<{ n: string }>`
    select count(*) as n from trace_runs r
    where exists (select from trace_projects p where p.id = r.project_id and p.deleted_at is null)
  `.execute(sql);
  return Number(rows[0]!.n);
}

export async function hasLeaving(sql: Sql): Promise<boolean> {
  const { rows } = await raw`
    select 1 from trace_projects p where p.deleted_at is null
      and exists (select from trace_runs r where r.project_id = p.id) limit 1
  `.execute(sql);
  return rows.length > 0;
}

export async function listLeavingProjects(sql: Sql): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`
    select p.id from trace_projects p where p.deleted_at is null
      and exists (select from trace_runs r where r.project_id = p.id)
    order by p.start_time desc
  `.execute(sql);
  return rows.map((row) => row.id);
}

/** In the order of an index: without `r.` the order would be that of the texts that are returned. */
export const leavingPage: Statement = {
  name: "",
  text: `select r.id, r.workspace_id, r.trace_id, ${timeTextSql("r.start_time")} as start_time from trace_runs r
    where r.project_id = $1 and (r.start_time, r.id) < ($2::timestamptz, $3::uuid)
    order by r.start_time desc, r.id desc limit $4`,
};

/** Before all runs, in the order of a page. */
const beginning: LeavingCursor = { startTime: "infinity", id: "ffffffff-ffff-ffff-ffff-ffffffffffff" };

/** The newest runs of a project after the cursor, with all runs of their traces, in the order of the trees. */
export async function listLeaving(
  database: Database,
  projectId: string,
  {
    after = beginning,
    limit,
    traceLimit,
  }: { after: LeavingCursor | undefined; limit: number; traceLimit: number },
): Promise<{ keys: LeavingKey[]; last: LeavingCursor | undefined }> {
  const rows = await database.query<Omit<LeavingKey, "bytes"> & { trace_id: string }>(leavingPage, [
    ...[projectId, after.startTime, after.id, limit],
  ]);
  const last = rows.at(-1);
  if (!last) return { keys: [], last: undefined };
  const traceIds = [...new Set(rows.map((row) => row.trace_id))];
  const found = await raw<LeavingKey>`
    select id, workspace_id, ${raw.raw(timeTextSql("start_time"))} as start_time, (${raw.raw(sizes)})::float8 as bytes
    from trace_runs where trace_id = any(${traceIds}::uuid[]) and workspace_id = ${last.workspace_id}
    order by dotted_order limit ${traceLimit}
  `.execute(database.sql);
  // A trace may be larger than one look; its other runs are met later, those of this page now.
  const known = new Set(found.rows.map((row) => row.id));
  const rest = rows.filter((row) => !known.has(row.id)).map((row) => ({ ...row, bytes: 0 }));
  return { keys: [...found.rows, ...rest], last: { startTime: last.start_time, id: last.id } };
}

const columns = [
  ...["id", "workspace_id", "project_id", "trace_id", "parent_run_id", "parent_run_ids"],
  ...["reference_example_id", "name", "run_type", "dotted_order", "trace_tier", "thread_id", "tags"],
  ...["terms", "execution_order", "posted", "patched", "error"],
  ...["inputs", "outputs", "extra", "events", "serialized"],
];
const texts = [
  ...["start_time", "end_time", "first_token_time", "received_at"].map(
    (name) => `${timeTextSql(`r.${name}`)} as ${name}`,
  ),
  ...["r.metadata::text as metadata", "r.usage::text[] as usage"],
];
/** In this form one index is used for each row, whatever the planner expects of a table with many partitions. */
const isKey = raw`r.id = any (array[k.id]) and r.start_time = any (array[k.start_time]) and r.workspace_id = k.workspace_id`;

/** Held until the transaction ends: whoever removes one of them waits, and then finds it gone from here. */
export async function holdLeaving(tx: Sql, keys: readonly LeavingKey[]): Promise<LeavingRun[]> {
  const { rows } = await raw<LeavingRun>`
    select ${raw.raw([...columns.map((name) => `r.${name}`), ...texts].join(", "))}
    from ${keyRows(keys)}, trace_runs r where ${isKey}
    order by r.id for update of r
  `.execute(tx);
  return rows;
}

export async function deleteLeft(tx: Sql, runs: readonly LeavingRun[]): Promise<void> {
  await raw`
    with gone as (
      delete from trace_runs r using ${keyRows(runs)} where ${isKey}
    )
    delete from trace_run_ids i using ${keyRows(runs)}
    where i.id = any (array[k.id]) and i.workspace_id = k.workspace_id
  `.execute(tx);
}

export type FeedbackOnRun = { workspace_id: string; run_id: string; id: string };

export async function listFeedbackOn(tx: Sql, runs: readonly LeavingRun[]): Promise<FeedbackOnRun[]> {
  const { rows } = await raw<FeedbackOnRun>`
    select workspace_id, run_id, id from trace_feedback where run_id = any(${runs.map((run) => run.id)}::uuid[])
  `.execute(tx);
  const known = new Set(runs.map((run) => run.workspace_id + run.id));
  return rows.filter((row) => known.has(row.workspace_id + row.run_id));
}

function keyRows(keys: readonly Pick<LeavingKey, "id" | "start_time" | "workspace_id">[]) {
  return raw`unnest(${keys.map((key) => key.id)}::uuid[], ${keys.map((key) => key.start_time)}::timestamptz[],
    ${keys.map((key) => key.workspace_id)}::uuid[]) as k (id, start_time, workspace_id)`;
}

/** Gives back the space of a part of the table that has no rows. Fails soon where the part is in use. */
export async function emptyPartition(tx: Sql, name: string): Promise<void> {
  await raw`select set_config('lock_timeout', '2s', true)`.execute(tx);
  await raw`lock table ${raw.id(name)} in access exclusive mode`.execute(tx);
  const { rows } = await raw`select 1 from ${raw.id(name)} limit 1`.execute(tx);
  if (rows.length === 0) await raw`truncate ${raw.id(name)}`.execute(tx);
}
