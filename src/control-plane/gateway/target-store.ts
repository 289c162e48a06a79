import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { DesiredState } from "../desired-state/deployment.ts";
import type { SleepState } from "../desired-state/sleep.ts";
import type { Endpoint } from "../endpoints/endpoint.ts";
import type { ExitColumns } from "../runtimes/exit.ts";

export type TargetRow = {
  deployment_id: string;
  workspace_id: string;
  name: string;
  desired_state: DesiredState;
  sleep_state: SleepState;
  /** Of one that a listener runs. */
  listener: string | null;
  remote_url: string | null;
  uses_own_auth: boolean | null;
  active_number: number | null;
  instance_id: string | null;
  runtime: string | null;
  port: number | null;
  endpoints: Endpoint[] | null;
  secret_sealed: string | null;
  instance_state: string | null;
  latest_number: number | null;
  latest_status: string | null;
  attempt: number | null;
} & ExitColumns;

/** Which server serves a deployment now, and what is needed to explain why none does. */
export async function findTarget(sql: Sql, slug: string): Promise<TargetRow | undefined> {
  const { rows } = await raw<TargetRow>`
    select d.id as deployment_id, d.workspace_id, d.name, d.desired_state, d.sleep_state, d.remote_url,
      n.compute_id as listener, a.uses_own_auth, a.number as active_number,
      i.id as instance_id, i.runtime, i.port, e.endpoints, i.secret_sealed, i.state as instance_state, i.exit_kind, i.exit_detail, i.attempt,
      l.number as latest_number, l.status as latest_status
    from deployments d
    left join listeners n on n.id = (d.source_config->>'listener_id')::uuid
    left join revisions a on a.id = d.active_revision_id
    left join revisions l on l.id = d.latest_revision_id
    left join lateral (
      select id, runtime, port, secret_sealed, state, exit_kind, exit_detail, attempt from deployment_instances
      where revision_id = d.active_revision_id
      order by (state = 'ready') desc, (state = 'draining') desc, started_at desc limit 1) i on true
    left join lateral (
      select jsonb_agg(jsonb_build_object('name', name, 'host', host, 'port', port, 'ready', ready) order by name)
        as endpoints
      from deployment_endpoints where instance_id = i.id) e on true
    where d.slug = ${slug} and d.deleted_at is null`.execute(sql);
  return rows[0];
}
