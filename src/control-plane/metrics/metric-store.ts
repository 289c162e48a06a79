import type { Sql } from "../../platform/db/database.ts";
import { raw } from "../../platform/db/raw.ts";
import type { MetricPoint } from "./metric.ts";

export type Measured = {
  deploymentId: string;
  cpu: number | null;
  memoryBytes: number | null;
  requests: number;
  /** Of these: only asked whether it answers. */
  probes: number;
  errors: number;
  busyMs: number;
};

/** All in one statement: what one deployment says of itself must not be too much for a column. */
const mostBytes = Number.MAX_SAFE_INTEGER;

/** Counts add up; of the amounts the latest stays. Those of deployments that are gone are dropped. */
export async function addMeasured(sql: Sql, at: Date, rows: readonly Measured[]): Promise<void> {
  if (rows.length === 0) return;
  await raw`
    insert into deployment_metrics as m (deployment_id, at, cpu, memory_bytes, requests, probes, errors, busy_ms)
    select given.id, ${at}, given.cpu, least(given.memory, ${mostBytes}::float8)::bigint,
      given.requests, given.probes, given.errors, given.busy
    from unnest(${rows.map((row) => row.deploymentId)}::uuid[], ${rows.map((row) => row.cpu)}::float8[],
      ${rows.map((row) => row.memoryBytes)}::float8[], ${rows.map((row) => row.requests)}::int[],
      ${rows.map((row) => row.probes)}::int[],
      ${rows.map((row) => row.errors)}::int[], ${rows.map((row) => row.busyMs)}::float8[])
      as given (id, cpu, memory, requests, probes, errors, busy)
    join deployments d on d.id = given.id
    on conflict (deployment_id, at) do update set cpu = coalesce(excluded.cpu, m.cpu),
      memory_bytes = coalesce(excluded.memory_bytes, m.memory_bytes), requests = m.requests + excluded.requests,
      probes = m.probes + excluded.probes,
      errors = m.errors + excluded.errors, busy_ms = m.busy_ms + excluded.busy_ms`.execute(sql);
}

export async function readPoints(
  sql: Sql,
  deploymentId: string,
  range: { from: Date; to: Date; stepSeconds: number },
): Promise<MetricPoint[]> {
  const step = `${range.stepSeconds} seconds`;
  const { rows } = await raw<MetricPoint>`
    select date_bin(${step}::interval, at, 'epoch'::timestamptz) as at, avg(cpu) as cpu,
      max(memory_bytes)::float8 as memory_bytes, sum(requests)::int as requests, sum(errors)::int as errors,
      sum(busy_ms) / nullif(sum(requests), 0) as mean_ms
    from deployment_metrics where deployment_id = ${deploymentId} and at >= ${range.from} and at <= ${range.to}
    group by 1 order by 1`.execute(sql);
  return rows;
}

/** When it was last used since then: by its end, to the step. Of an unused one the steps of weeks would be read otherwise. */
export async function readUsedAt(sql: Sql, deploymentId: string, since: Date): Promise<Date | null> {
  const { rows } = await raw<{ at: Date }>`
    select at from deployment_metrics
    where deployment_id = ${deploymentId} and at >= ${since} and requests > probes
    order by at desc limit 1`.execute(sql);
  return rows[0]?.at ?? null;
}

export type InstanceFacts = {
  id: string;
  revision_id: string;
  state: string;
  attempt: number;
  started_at: Date;
  ready_at: Date | null;
};

export async function readRunning(sql: Sql, deploymentId: string): Promise<InstanceFacts[]> {
  const { rows } = await raw<InstanceFacts>`
    select id, revision_id, state, attempt, started_at, ready_at from deployment_instances
    where deployment_id = ${deploymentId} and state <> 'exited' order by started_at desc`.execute(sql);
  return rows;
}

/** Starts that followed a death. */
export async function countRestarts(sql: Sql, deploymentId: string, from: Date): Promise<number> {
  const { rows } = await raw<{ count: number }>`
    select count(*)::int as count from deployment_instances
    where deployment_id = ${deploymentId} and attempt > 1 and started_at >= ${from}`.execute(sql);
  return rows[0]!.count;
}

export async function pruneMetrics(sql: Sql, before: Date): Promise<void> {
  await raw`delete from deployment_metrics where at < ${before}`.execute(sql);
}
