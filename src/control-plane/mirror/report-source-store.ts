import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { Deployment } from "../desired-state/deployment.ts";
import type { Revision, RevisionEvent } from "../desired-state/revision.ts";
import type { LogRow } from "../logs/log.ts";
import type { Instance } from "../runtimes/instance.ts";

/** What this place has to tell the platform, about the deployments that come from there. */

const keptDays = 7;
/** The newest of each kind. Older ones were told, and change no more. */
const most = 2_000;

export type ToldDeployment = Pick<
  Deployment,
  | "id"
  | "slug"
  | "database_ready"
  | "active_revision_id"
  | "previous_revision_id"
  | "switched_at"
  | "deleted_at"
>;

export async function readDeployments(sql: Sql): Promise<ToldDeployment[]> {
  const { rows } = await raw<ToldDeployment>`
    select id, slug, database_ready, active_revision_id, previous_revision_id, switched_at, deleted_at
    from deployments where mirrored`.execute(sql);
  return rows;
}

/** Not of what is deleted here: the platform may have it elsewhere meanwhile, or want it here again. */
export async function readRevisions(sql: Sql): Promise<Revision[]> {
  const { rows } = await raw<Revision>`
    select r.* from revisions r join deployments d on d.id = r.deployment_id
    where d.mirrored and d.deleted_at is null
    order by r.updated_at desc limit ${most}`.execute(sql);
  return rows;
}

export type ToldInstance = Instance & { has_lost_pods: boolean };

export async function readInstances(sql: Sql): Promise<ToldInstance[]> {
  const { rows } = await raw<ToldInstance>`
    select i.*, i.runtime = 'kubernetes' and i.state in ('ready', 'draining') and not exists (
      select 1 from deployment_endpoints e where e.instance_id = i.id and e.ready) as has_lost_pods
    from deployment_instances i join deployments d on d.id = i.deployment_id
    where d.mirrored and (i.state <> 'exited' or i.exited_at > now() - make_interval(days => ${keptDays}))
    order by i.started_at desc limit ${most}`.execute(sql);
  return rows;
}

export async function readEvents(sql: Sql, after: number, limit: number): Promise<RevisionEvent[]> {
  const { rows } = await raw<RevisionEvent>`
    select e.* from revision_events e join revisions r on r.id = e.revision_id
    join deployments d on d.id = r.deployment_id
    where d.mirrored and e.id > ${after} order by e.id limit ${limit}`.execute(sql);
  return rows;
}

export async function readLines(
  sql: Sql,
  after: number,
  limit: number,
): Promise<(LogRow & { deployment_id: string })[]> {
  const { rows } = await raw<LogRow & { deployment_id: string }>`
    select l.* from deployment_logs l join deployments d on d.id = l.deployment_id
    where d.mirrored and l.id > ${after} order by l.id limit ${limit}`.execute(sql);
  return rows;
}

export type ToldMetric = {
  deployment_id: string;
  at: Date;
  cpu: number | null;
  memory_bytes: number | null;
  requests: number;
  errors: number;
  busy_ms: number;
};

/** Steps that are over. */
export async function readMetrics(
  sql: Sql,
  { after, before }: { after: Date | null; before: Date },
  limit: number,
): Promise<ToldMetric[]> {
  const { rows } = await raw<ToldMetric>`
    select m.* from deployment_metrics m join deployments d on d.id = m.deployment_id
    where d.mirrored and m.at > coalesce(${after}, ${before}::timestamptz - interval '1 hour') and m.at < ${before}
    order by m.at limit ${limit}`.execute(sql);
  return rows;
}
