import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { announceDeployment } from "../desired-state/revision-store.ts";
import type { Endpoint } from "./endpoint.ts";

/**
 * Makes these the endpoints of an instance and removes its others. False when nothing changed; otherwise every gateway
 * is notified.
 */
export async function saveEndpoints(
  tx: Sql,
  instanceId: string,
  endpoints: readonly Endpoint[],
): Promise<boolean> {
  const given = JSON.stringify(endpoints.map(({ name, host, port, ready }) => ({ name, host, port, ready })));
  const { rows } = await raw<{ changed: boolean }>`
    with given as (
      select * from jsonb_to_recordset(${given}::jsonb) as g(name text, host text, port integer, ready boolean)
    ), gone as (
      delete from deployment_endpoints e where e.instance_id = ${instanceId}
        and not exists (select 1 from given g where g.name = e.name) returning 1
    ), kept as (
      insert into deployment_endpoints as e (instance_id, name, host, port, ready)
      select ${instanceId}::uuid, name, host, port, ready from given
      on conflict (instance_id, name) do update set host = excluded.host, port = excluded.port, ready = excluded.ready
      where (e.host, e.port, e.ready) is distinct from (excluded.host, excluded.port, excluded.ready) returning 1
    )
    select exists (select 1 from gone) or exists (select 1 from kept) as changed`.execute(tx);
  const changed = rows[0]!.changed;
  if (changed) await announceOf(tx, instanceId);
  return changed;
}

/** Of a server that is one process or one container, when it serves. */
export async function markEndpointsReady(tx: Sql, instanceId: string): Promise<void> {
  await raw`update deployment_endpoints set ready = true where instance_id = ${instanceId} and not ready`.execute(
    tx,
  );
}

export async function removeEndpoints(tx: Sql, instanceId: string): Promise<void> {
  await raw`delete from deployment_endpoints where instance_id = ${instanceId}`.execute(tx);
}

export async function listEndpoints(sql: Sql, instanceId: string): Promise<Endpoint[]> {
  const { rows } = await raw<Endpoint>`
    select name, host, port, ready from deployment_endpoints where instance_id = ${instanceId} order by name`.execute(
    sql,
  );
  return rows;
}

async function announceOf(tx: Sql, instanceId: string): Promise<void> {
  const { rows } = await raw<{ deployment_id: string }>`
    select deployment_id from deployment_instances where id = ${instanceId}`.execute(tx);
  if (rows[0]) await announceDeployment(tx, rows[0].deployment_id);
}
