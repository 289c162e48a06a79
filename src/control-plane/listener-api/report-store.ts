import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Report } from "./listener-wire.ts";

/** Everything here is kept to the deployments of one listener: a report about others changes nothing. */
export type Reporter = { workspaceId: string; listenerId: string };

const own = ({ workspaceId, listenerId }: Reporter) =>
  raw`d.workspace_id = ${workspaceId} and d.source_config->>'listener_id' = ${listenerId}`;
const rowsOf = (items: readonly object[]) => JSON.stringify(items);

type Changed = { id: string };
const idsOf = ({ rows }: { rows: Changed[] }) => rows.map(({ id }) => id);

export async function applyDeployments(
  tx: Sql,
  by: Reporter,
  items: Report["deployments"],
  now: Date,
): Promise<string[]> {
  return idsOf(
    await raw<Changed>`
    update deployments d set remote_url = g.url, database_ready = g.database_ready,
      active_revision_id = g.active_revision_id, previous_revision_id = g.previous_revision_id,
      switched_at = g.switched_at, updated_at = ${now}
    from json_to_recordset(${rowsOf(items)}::json) as g (id uuid, url text, database_ready boolean,
      active_revision_id uuid, previous_revision_id uuid, switched_at timestamptz)
    where d.id = g.id and ${own(by)}
      and not exists (select 1 from unnest(array[g.active_revision_id, g.previous_revision_id]) as named (id)
        where named.id is not null
          and not exists (select 1 from revisions r where r.id = named.id and r.deployment_id = d.id))
    returning d.id`.execute(tx),
  );
}

/** What was interrupted here stays so until the listener has heard of it, or has it deployed already. */
export async function applyRevisions(
  tx: Sql,
  by: Reporter,
  items: Report["revisions"],
  now: Date,
): Promise<string[]> {
  return idsOf(
    await raw<Changed>`
    update revisions r set status = g.status, status_message = g.status_message, condition = g.condition,
      failure = g.failure, progress = g.progress, repo_commit_sha = coalesce(g.repo_commit_sha, r.repo_commit_sha),
      uses_own_auth = g.uses_own_auth, image_reference = coalesce(g.image_reference, r.image_reference),
      image_digest = coalesce(g.image_digest, r.image_digest), updated_at = ${now}
    from deployments d, json_to_recordset(${rowsOf(items)}::json) as g (id uuid, status text, status_message text,
      condition text, failure jsonb, progress integer, repo_commit_sha text, uses_own_auth boolean,
      image_reference text, image_digest text)
    where r.id = g.id and d.id = r.deployment_id and ${own(by)}
      and not (r.status = 'INTERRUPTED' and g.status in
        ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING'))
    returning d.id`.execute(tx),
  );
}

/** Its servers, as rows that no runtime of this platform has anything to do with. */
export async function applyInstances(tx: Sql, by: Reporter, items: Report["instances"]): Promise<string[]> {
  return idsOf(
    await raw<Changed>`
    insert into deployment_instances as i (id, deployment_id, revision_id, runtime, state, attempt, port, log_path,
      database_hash, tracing_key_id, started_at, ready_at, drain_since, stop_since, exited_at, exit_kind, exit_detail,
      lost_pods)
    select distinct on (g.id) g.id, d.id, r.id, 'remote', g.state, g.attempt, 0, '', '', g.tracing_key_id, g.started_at, g.ready_at,
      g.drain_since, g.stop_since, g.exited_at, g.exit_kind, g.exit_detail, g.lost_pods
    from json_to_recordset(${rowsOf(items)}::json) as g (id uuid, deployment_id uuid, revision_id uuid, state text,
      attempt integer, tracing_key_id uuid, started_at timestamptz, ready_at timestamptz, drain_since timestamptz,
      stop_since timestamptz, exited_at timestamptz, exit_kind text, exit_detail text, lost_pods boolean)
    join deployments d on d.id = g.deployment_id
    join revisions r on r.id = g.revision_id and r.deployment_id = d.id
    where ${own(by)}
    on conflict (id) do update set state = excluded.state, attempt = excluded.attempt, ready_at = excluded.ready_at,
      drain_since = excluded.drain_since, stop_since = excluded.stop_since, exited_at = excluded.exited_at,
      exit_kind = excluded.exit_kind, exit_detail = excluded.exit_detail, lost_pods = excluded.lost_pods
      where i.runtime = 'remote' and i.deployment_id = excluded.deployment_id
    returning i.deployment_id as id`.execute(tx),
  );
}

/** An interruption is on the timeline already where it was asked for here. */
export async function addEvents(tx: Sql, by: Reporter, items: Report["events"]["items"]): Promise<string[]> {
  return idsOf(
    await raw<Changed>`
    with added as (
      insert into revision_events (revision_id, kind, status, message, created_at)
      select r.id, g.kind, g.status, g.message, g.created_at
      from json_array_elements(${rowsOf(items)}::json) with ordinality as e (item, place),
        json_to_record(e.item) as g (revision_id uuid, kind text, status text, message text, created_at timestamptz),
        revisions r, deployments d
      where r.id = g.revision_id and d.id = r.deployment_id and ${own(by)}
        and not (g.status = 'INTERRUPTED' and r.status = 'INTERRUPTED')
      order by e.place returning revision_id)
    select distinct r.deployment_id as id from added join revisions r on r.id = added.revision_id`.execute(
      tx,
    ),
  );
}

export async function addLines(tx: Sql, by: Reporter, items: Report["logs"]["items"]): Promise<void> {
  await raw`
    insert into deployment_logs (deployment_id, revision_id, kind, at, level, message, run_id, origin)
    select d.id, r.id, g.kind, g.at, g.level, g.message, g.run_id, g.origin
    from json_array_elements(${rowsOf(items)}::json) with ordinality as e (item, place),
      json_to_record(e.item) as g (deployment_id uuid, revision_id uuid, kind text, at timestamptz, level text,
        message text, run_id text, origin text), deployments d, revisions r
    where d.id = g.deployment_id and r.id = g.revision_id and r.deployment_id = d.id and ${own(by)}
    order by e.place`.execute(tx);
}

/** A step that comes again is the same one, told again. One of days to come is none: it would never grow old. */
export async function addMetrics(
  tx: Sql,
  by: Reporter,
  items: Report["metrics"]["items"],
  now: Date,
): Promise<void> {
  await raw`
    insert into deployment_metrics (deployment_id, at, cpu, memory_bytes, requests, errors, busy_ms)
    select distinct on (d.id, g.at) d.id, g.at, g.cpu, g.memory_bytes::bigint, g.requests, g.errors, g.busy_ms
    from json_to_recordset(${rowsOf(items)}::json) as g (deployment_id uuid, at timestamptz, cpu float8,
      memory_bytes float8, requests integer, errors integer, busy_ms float8)
    join deployments d on d.id = g.deployment_id
    where ${own(by)} and g.at < ${now}::timestamptz + interval '1 day'
    on conflict (deployment_id, at) do update set cpu = excluded.cpu, memory_bytes = excluded.memory_bytes,
      requests = excluded.requests, errors = excluded.errors, busy_ms = excluded.busy_ms`.execute(tx);
}

/** Deleted deployments that the listener has nothing of any more: the platform may forget them. */
export async function releaseDeleted(
  tx: Sql,
  by: Reporter,
  held: readonly string[],
  now: Date,
): Promise<string[]> {
  const released = idsOf(
    await raw<Changed>`
    update deployments d set remote_held = false
    where ${own(by)} and d.deleted_at is not null and d.remote_held and d.id <> all(${held}::uuid[])
    returning d.id`.execute(tx),
  );
  if (released.length > 0)
    await raw`update deployment_instances set state = 'exited', exit_kind = coalesce(exit_kind, 'stopped'),
      exited_at = coalesce(exited_at, ${now})
      where deployment_id = any(${released}::uuid[]) and runtime = 'remote' and state <> 'exited'`.execute(
      tx,
    );
  return released;
}
