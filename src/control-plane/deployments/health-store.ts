import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import { troubleKinds } from "../runtimes/trouble-store.ts";
import type { HealthRow } from "./health.ts";

export async function readHealth(sql: Sql, ids: readonly string[]): Promise<HealthRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await raw<HealthRow>`
    select d.id as deployment_id, d.desired_state, d.stopped_at, d.sleep_state, d.sleep_changed_at, d.wake_at, a.number as active_number, a.status_message, i.state as instance_state, i.attempt,
      i.exit_kind, i.exit_detail, i.ready_at, i.exited_at,
      case when i.runtime = 'kubernetes' then not exists (
        select 1 from deployment_endpoints e where e.instance_id = i.id and e.ready)
        else coalesce(i.lost_pods, false) end as lost_pods,
      (select case when e.kind = ${troubleKinds.begins} then e.message end from revision_events e
        where e.revision_id = a.id and e.kind in (${troubleKinds.begins}, ${troubleKinds.ends}) and e.created_at >= i.started_at
        order by e.id desc limit 1) as trouble
    from deployments d
    left join revisions a on a.id = d.active_revision_id
    left join lateral (
      select id, runtime, state, attempt, exit_kind, exit_detail, started_at, ready_at, exited_at, lost_pods from deployment_instances
      where revision_id = d.active_revision_id
      order by (state = 'ready') desc, (state = 'draining') desc, started_at desc limit 1) i on true
    where d.id = any(${ids}::uuid[])`.execute(sql);
  return rows;
}
