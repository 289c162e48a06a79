import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Exit } from "./exit.ts";
import type { Announced, Instance, InstanceState } from "./instance.ts";

/** Does nothing the second time: the answer to the first may have been lost. */
export async function insertInstance(
  tx: Sql,
  row: Pick<
    Instance,
    | "id"
    | "deployment_id"
    | "revision_id"
    | "runtime"
    | "attempt"
    | "port"
    | "log_path"
    | "database_hash"
    | "tracing_key_id"
    | "secret_sealed"
  >,
  now: Date,
): Promise<void> {
  await raw`
    insert into deployment_instances (id, deployment_id, revision_id, runtime, state, attempt, port, log_path,
      database_hash, tracing_key_id, secret_sealed, started_at)
    values (${row.id}, ${row.deployment_id}, ${row.revision_id}, ${row.runtime}, 'starting', ${row.attempt},
      ${row.port}, ${row.log_path}, ${row.database_hash}, ${row.tracing_key_id},
      ${row.secret_sealed}, ${now})
    on conflict (id) do nothing`.execute(tx);
}

export async function saveHandle(sql: Sql, id: string, handle: Record<string, unknown>): Promise<void> {
  await raw`update deployment_instances set handle = ${JSON.stringify(handle)}::jsonb where id = ${id}`.execute(
    sql,
  );
}

export async function saveAnnounced(sql: Sql, id: string, announced: Announced): Promise<void> {
  await raw`update deployment_instances set announced = ${JSON.stringify(announced)}::jsonb where id = ${id}`.execute(
    sql,
  );
}

/** False when the offset has changed: another process has read on. */
export async function saveLogOffset(
  sql: Sql,
  id: string,
  { from, to }: { from: number; to: number },
): Promise<boolean> {
  const { rows } = await raw`update deployment_instances set log_offset = ${to}
    where id = ${id} and log_offset = ${from} returning id`.execute(sql);
  return rows.length > 0;
}

const timeOf: Partial<Record<InstanceState, string>> = {
  ready: "ready_at",
  draining: "drain_since",
  stopping: "stop_since",
  exited: "exited_at",
};

/** False when it was not in one of those states. */
export async function moveInstance(
  sql: Sql,
  id: string,
  move: { from: InstanceState[]; to: InstanceState; exit?: Exit },
  now: Date,
): Promise<boolean> {
  const column = timeOf[move.to];
  const stamp = column === undefined ? raw`` : raw`, ${raw.ref(column)} = ${now}`;
  const { rows } = await raw`
    update deployment_instances set state = ${move.to}, exit_kind = coalesce(${move.exit?.kind ?? null}, exit_kind),
      exit_detail = case when ${move.exit?.kind ?? null}::text is null then exit_detail else ${move.exit?.detail ?? null} end ${stamp}
    where id = ${id} and state = any(${move.from}::text[]) returning id`.execute(sql);
  return rows.length > 0;
}

/** Everything that may still run, and the last end of each revision asked for. */
export async function listInstances(
  sql: Sql,
  deploymentId: string,
  revisionIds: string[],
): Promise<Instance[]> {
  const { rows } = await raw<Instance>`
    select * from deployment_instances where deployment_id = ${deploymentId} and state <> 'exited'
    union all
    (select distinct on (revision_id) * from deployment_instances
      where deployment_id = ${deploymentId} and state = 'exited' and revision_id = any(${revisionIds}::uuid[])
      order by revision_id, started_at desc)`.execute(sql);
  return rows;
}

/** What listeners run elsewhere is not among them. */
export async function listLiveInstances(sql: Sql): Promise<Instance[]> {
  const { rows } = await raw<Instance>`
    select * from deployment_instances where state <> 'exited' and runtime <> 'remote'`.execute(sql);
  return rows;
}

export async function readInstance(sql: Sql, id: string): Promise<Instance | undefined> {
  const { rows } = await raw<Instance>`select * from deployment_instances where id = ${id}`.execute(sql);
  return rows[0];
}

export async function pruneInstances(sql: Sql, before: Date): Promise<string[]> {
  const { rows } = await raw<{ log_path: string }>`
    delete from deployment_instances where state = 'exited' and exited_at < ${before} returning log_path`.execute(
    sql,
  );
  // Those of listeners have none here.
  return rows.map((row) => row.log_path).filter((path) => path !== "");
}
