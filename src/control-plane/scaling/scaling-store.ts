import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Endpoint } from "../endpoints/endpoint.ts";
import type { Handle } from "../runtimes/runtime.ts";

/** A server that serves and may have more replicas or fewer. */
export type Scalable = {
  id: string;
  deployment_id: string;
  revision_id: string;
  handle: Handle;
  secret_sealed: string | null;
  resource_spec: Record<string, unknown>;
  /** Those that take requests. */
  endpoints: Endpoint[];
};

/** Of one runtime, those whose number of replicas nobody else decides. */
export async function listScalable(sql: Sql, runtime: string): Promise<Scalable[]> {
  const { rows } = await raw<Scalable>`
    select i.id, i.deployment_id, i.revision_id, i.handle, i.secret_sealed, s.spec as resource_spec,
      coalesce((select jsonb_agg(jsonb_build_object('name', e.name, 'host', e.host, 'port', e.port, 'ready', e.ready))
        from deployment_endpoints e where e.instance_id = i.id and e.ready), '[]') as endpoints
    from deployment_instances i
    join revisions r on r.id = i.revision_id
    cross join lateral (select r.build_config -> 'resource_spec' as spec) s
    where i.state = 'ready' and i.runtime = ${runtime} and i.handle is not null
      and (s.spec ->> 'max_scale')::int > greatest(1, (s.spec ->> 'min_scale')::int)
      and s.spec ->> 'scaling' is distinct from 'external'`.execute(sql);
  return rows;
}
