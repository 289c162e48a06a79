import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

export type TracingKeyRow = { api_key_id: string; project: string; key_sealed: string; renew_at: Date };

export async function findTracingKey(sql: Sql, deploymentId: string): Promise<TracingKeyRow | undefined> {
  const { rows } = await raw<TracingKeyRow>`
    select api_key_id, project, key_sealed, renew_at from deployment_tracing_keys
    where deployment_id = ${deploymentId}`.execute(sql);
  return rows[0];
}

export async function saveTracingKey(
  sql: Sql,
  deploymentId: string,
  row: TracingKeyRow,
  now: Date,
): Promise<void> {
  await raw`
    insert into deployment_tracing_keys (deployment_id, api_key_id, project, key_sealed, created_at, renew_at)
    values (${deploymentId}, ${row.api_key_id}, ${row.project}, ${row.key_sealed}, ${now}, ${row.renew_at})
    on conflict (deployment_id) do update set api_key_id = excluded.api_key_id, project = excluded.project,
      key_sealed = excluded.key_sealed, created_at = excluded.created_at, renew_at = excluded.renew_at`.execute(
    sql,
  );
}

/** Keys that a deployment will start its next server with, or that a server still sends with. */
export async function listTracingKeysInUse(sql: Sql): Promise<string[]> {
  const { rows } = await raw<{ id: string }>`
    select k.api_key_id as id from deployment_tracing_keys k join deployments d on d.id = k.deployment_id
      where d.deleted_at is null
    union
    select tracing_key_id from deployment_instances where state <> 'exited' and tracing_key_id is not null`.execute(
    sql,
  );
  return rows.map((row) => row.id);
}
