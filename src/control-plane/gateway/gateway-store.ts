import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";

/** Active requests, by instance and endpoint, without zeros. */
export type Held = Record<string, Record<string, number>>;

/** Notifies gateways at once of what they would find at their next beat; the payload is the deployment's id. */
export const drainChannel = "treadle_drains";

/** A gateway that was not heard of for this long is gone, and with it what it held. */
export const gatewayLeaseMs = 15_000;
const lease = `interval '${gatewayLeaseMs} milliseconds'`;

export const enterStatement: Statement = {
  name: "gateway_enter_1",
  text: `with gone as (delete from gateways where seen_at < now() - 4 * ${lease})
    insert into gateways (id, seen_at, epoch, held) select $1, now(), epoch, $2::jsonb from gateway_epoch returning epoch`,
};

export const beatStatement: Statement = {
  name: "gateway_beat_1",
  text: `with beat as (
      insert into gateways (id, seen_at, epoch, held) values ($1, now(), $2::bigint, $3::jsonb)
      on conflict (id) do update set seen_at = excluded.seen_at, epoch = excluded.epoch, held = excluded.held)
    select epoch, case when epoch > $2::bigint then array(select distinct deployment_id::text from deployment_instances
      where drain_epoch > $2::bigint and state <> 'exited') else '{}' end as drained from gateway_epoch`,
};

export const leaveStatement: Statement = {
  name: "gateway_leave_1",
  text: "delete from gateways where id = $1",
};

/** It knows of nothing, so it has heard of everything up to now. */
export async function enterGateway(database: Database, id: string, held: Held): Promise<number> {
  const rows = await database.query<{ epoch: number }>(enterStatement, [id, JSON.stringify(held)]);
  return Number(rows[0]!.epoch);
}

/**
 * Records its active requests and the epoch up to which it knows drained servers; returns those it does not know yet.
 */
export async function beatGateway(
  database: Database,
  gateway: { id: string; epoch: number; held: Held },
): Promise<{ epoch: number; drained: string[] }> {
  const values = [gateway.id, gateway.epoch, JSON.stringify(gateway.held)];
  const rows = await database.background<{ epoch: number; drained: string[] }>(beatStatement, values);
  return { epoch: Number(rows[0]!.epoch), drained: rows[0]!.drained };
}

export async function leaveGateway(database: Database, id: string): Promise<void> {
  await database.query(leaveStatement, [id]);
}

/** An instance that gets no requests any more from here on: gateways are asked to acknowledge it. */
export async function markDrained(tx: Sql, instanceId: string): Promise<void> {
  await raw`
    with next as (update gateway_epoch set epoch = epoch + 1 returning epoch), drained as (
      update deployment_instances i set drain_epoch = next.epoch from next where i.id = ${instanceId}
      returning i.deployment_id)
    select pg_notify(${drainChannel}, deployment_id::text) from drained`.execute(tx);
}

/** Which of these instances some gateway holds requests to, or may still send some to, not having heard of the drain. */
export async function findBusyInstances(sql: Sql, instanceIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await raw<{ id: string }>`
    select i.id from deployment_instances i where i.id = any(${[...instanceIds]}::uuid[]) and exists (
      select 1 from gateways g where g.seen_at > now() - ${gatewayLeaseMs} * interval '1 millisecond'
        and (g.epoch < i.drain_epoch or g.held ? i.id::text))`.execute(sql);
  return new Set(rows.map(({ id }) => id));
}

/** Active requests to each endpoint of an instance, through every gateway. */
export async function countHeldByEndpoint(sql: Sql, instanceId: string): Promise<Map<string, number>> {
  const { rows } = await raw<{ name: string; requests: number }>`
    select e.key as name, sum(e.value::int)::int as requests
    from gateways g, jsonb_each_text(g.held -> ${instanceId}::text) e
    where g.seen_at > now() - ${gatewayLeaseMs} * interval '1 millisecond'
    group by e.key`.execute(sql);
  return new Map(rows.map(({ name, requests }) => [name, requests]));
}

/** Active requests to instances, through every gateway but one, which has newer counts of its own. */
export async function countHeld(
  sql: Sql,
  instanceIds: readonly string[],
  except: string | null,
): Promise<Map<string, number>> {
  const { rows } = await raw<{ id: string; requests: number }>`
    select i.id::text as id, sum(e.value::int)::int as requests
    from gateways g, unnest(${[...instanceIds]}::uuid[]) as i(id), jsonb_each_text(g.held -> i.id::text) e
    where g.seen_at > now() - ${gatewayLeaseMs} * interval '1 millisecond' and g.id is distinct from ${except}::uuid
    group by i.id`.execute(sql);
  return new Map(rows.map(({ id, requests }) => [id, requests]));
}
