import type { Database, Sql } from "../db/database.ts";
import { type RawBuilder, raw } from "../db/raw.ts";
import type { Job, JobFailure, JobStatus, LeasedJob } from "./job.ts";
import {
  buryStatement,
  claimStatement,
  extendStatement,
  jobChannel,
  jobColumns,
  lookStatement,
  move,
  nextWakeStatement,
  reclaimPlaceStatement,
  reclaimStatement,
  releaseStatement,
  retryStatement,
  succeedStatement,
} from "./job-statements.ts";

type JobRow = {
  id: string;
  kind: string;
  payload: unknown;
  workspace_id: string | null;
  status: JobStatus;
  run_at: Date;
  attempts: number;
  max_attempts: number;
  idempotency_key: string | null;
  last_error: JobFailure | null;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
};

export type NewJob = {
  id: string;
  kind: string;
  payload: unknown;
  workspaceId: string | null;
  runAt: Date | null;
  maxAttempts: number;
  idempotencyKey: string | null;
  keyExpiresAt: Date | null;
};

export type Lease = { id: string; leaseToken: string };

const columns = raw.raw(jobColumns);

/** False when a job that holds the same key is in the way. Workers are woken when the transaction commits. */
export async function insertJob(sql: Sql, job: NewJob): Promise<boolean> {
  const rows = await rowsOf<{ id: string }>(
    sql,
    raw`with added as (
      insert into jobs (id, kind, payload, workspace_id, run_at, max_attempts, idempotency_key, holds_key, key_expires_at)
      values (${job.id}, ${job.kind}, ${JSON.stringify(job.payload)}::jsonb, ${job.workspaceId},
        coalesce(${job.runAt}::timestamptz, now()), ${job.maxAttempts}, ${job.idempotencyKey},
        ${job.idempotencyKey !== null}, ${job.keyExpiresAt}::timestamptz)
      on conflict (kind, idempotency_key) where holds_key do nothing
      returning id, kind
    )
    select id, pg_notify(${jobChannel}, 'due:' || kind) from added`,
  );
  return rows.length > 0;
}

/** Takes the key away from a finished job whose time to keep it is over. */
export async function dropExpiredKey(sql: Sql, kind: string, key: string): Promise<void> {
  await raw`update jobs set holds_key = false
    where kind = ${kind} and idempotency_key = ${key} and holds_key
      and finished_at is not null and key_expires_at <= now()`.execute(sql);
}

export async function findKeyHolder(sql: Sql, kind: string, key: string): Promise<Job | undefined> {
  const rows = await rowsOf<JobRow>(
    sql,
    raw`select ${columns} from jobs where kind = ${kind} and idempotency_key = ${key} and holds_key`,
  );
  return rows.map(toJob)[0];
}

export async function findJob(sql: Sql, id: string): Promise<Job | undefined> {
  return (await rowsOf<JobRow>(sql, raw`select ${columns} from jobs where id = ${id}`)).map(toJob)[0];
}

export type DeadFilter = { kind?: string; workspaceId?: string; limit: number };

export async function selectDead(sql: Sql, filter: DeadFilter): Promise<Job[]> {
  const rows = await rowsOf<JobRow>(
    sql,
    raw`select ${columns} from jobs
      where status = 'dead'
        and (${filter.kind ?? null}::text is null or kind = ${filter.kind ?? null})
        and (${filter.workspaceId ?? null}::uuid is null or workspace_id = ${filter.workspaceId ?? null}::uuid)
      order by finished_at desc, id desc
      limit ${filter.limit}`,
  );
  return rows.map(toJob);
}

/** Starts a dead job again with all its attempts; undefined when it is not dead or another job holds its key. */
export async function reviveJob(sql: Sql, id: string): Promise<Job | undefined> {
  const revive = move("dead", "pending");
  const rows = await rowsOf<JobRow>(
    sql,
    raw`with revived as (
      update jobs set ${raw.raw(revive.set)}, attempts = 0, run_at = now(), holds_key = idempotency_key is not null
      where id = ${id} and ${raw.raw(revive.where)} and not exists (
        select 1 from jobs other
        where other.kind = jobs.kind and other.idempotency_key = jobs.idempotency_key
          and other.holds_key and other.id <> jobs.id
      )
      returning ${columns}
    )
    select revived.*, pg_notify(${jobChannel}, 'due:' || kind) from revived`,
  );
  return rows.map(toJob)[0];
}

/** Undefined when the job is unknown or already finished. */
export async function cancelUnfinished(sql: Sql, id: string): Promise<Job | undefined> {
  const waiting = move("pending", "cancelled");
  const running = move("running", "cancelled");
  const rows = await rowsOf<JobRow>(
    sql,
    raw`with cancelled as (
      update jobs set ${raw.raw(waiting.set)}
      where id = (
        select id from jobs where id = ${id} and (${raw.raw(waiting.where)} or ${raw.raw(running.where)}) for update
      )
      returning ${columns}
    )
    select cancelled.*, pg_notify(${jobChannel}, 'cancel:' || id) from cancelled`,
  );
  return rows.map(toJob)[0];
}

/** The keys of unfinished jobs among those given. */
export async function findHeldKeys(sql: Sql, kind: string, keys: string[]): Promise<string[]> {
  const rows = await rowsOf<{ idempotency_key: string }>(
    sql,
    raw`select idempotency_key from jobs
      where kind = ${kind} and idempotency_key = any(${keys}::text[]) and holds_key and finished_at is null`,
  );
  return rows.map(({ idempotency_key }) => idempotency_key);
}

export type JobCount = { kind: string; status: JobStatus; count: number };

export async function countByStatus(sql: Sql): Promise<JobCount[]> {
  return rowsOf<JobCount>(
    sql,
    raw`select kind, status, count(*)::int as count from jobs group by kind, status order by kind, status`,
  );
}

/** Deletes up to `limit` finished jobs; the dead stay until someone decides about them. */
export async function deleteFinished(sql: Sql, before: Date, limit: number): Promise<number> {
  const rows = await rowsOf<{ id: string }>(
    sql,
    raw`delete from jobs where id = any(array(
      select id from jobs
      where status in ('succeeded', 'cancelled') and finished_at < ${before}
        and (not holds_key or key_expires_at <= now())
      order by finished_at limit ${limit}
      for update skip locked
    )) returning id`,
  );
  return rows.length;
}

/**
 * True means that no other process takes or cancels the job before the caller's transaction ends. Those lock `for
 * update`, so a key share lock is enough, and it lets heartbeats through. A transaction that is idle for as long as a
 * lease is ended: otherwise no other process could take the job.
 */
export async function lockLease(sql: Sql, lease: Lease, leaseMs: number): Promise<boolean> {
  const rows = await rowsOf<unknown>(
    sql,
    raw`select ${idleLimit(leaseMs)} from jobs
      where id = ${lease.id} and lease_token = ${lease.leaseToken} and status = 'running' for key share`,
  );
  return rows.length > 0;
}

/** The job succeeds with the caller's transaction; false when it belongs to someone else by now. */
export async function finishWithin(sql: Sql, lease: Lease, leaseMs: number): Promise<boolean> {
  const succeed = move("running", "succeeded");
  const rows = await rowsOf<unknown>(
    sql,
    raw`update jobs set ${raw.raw(succeed.set)}, last_error = null
      where id = ${lease.id} and lease_token = ${lease.leaseToken} and ${raw.raw(succeed.where)}
      returning ${idleLimit(leaseMs)}`,
  );
  return rows.length > 0;
}

const idleLimit = (leaseMs: number) =>
  raw`set_config('idle_in_transaction_session_timeout', ${String(leaseMs)}, true)`;

export type ClaimInput = { kinds: string[]; now: Date; limit: number; owner: string; leaseMs: number };

export async function claimDue(database: Database, input: ClaimInput): Promise<LeasedJob[]> {
  const rows = await database.query<JobRow & { lease_token: string }>(claimStatement, [
    input.kinds,
    input.now,
    input.limit,
    input.owner,
    input.leaseMs,
  ]);
  // UPDATE returns rows in no particular order.
  return rows
    .map((row) => ({ ...toJob(row), leaseToken: row.lease_token }))
    .sort((a, b) => a.runAt.getTime() - b.runAt.getTime() || (a.id < b.id ? -1 : 1));
}

export async function readNextWake(
  database: Database,
  input: { kinds: string[]; now: Date; owner: string },
): Promise<number | undefined> {
  const values = [input.kinds, input.now, input.owner];
  const rows = await database.query<{ wait_ms: number | null }>(nextWakeStatement, values);
  return rows[0]?.wait_ms ?? undefined;
}

/** `readNextWake` before anything is taken, without a connection of the pool: an idle process has none. */
export async function lookForJobs(
  database: Database,
  input: { kinds: string[]; now: Date; owner: string },
): Promise<number | null> {
  const values = [input.kinds, input.now, input.owner];
  const [row] = await database.background<{ wait_ms: number | null }>(lookStatement, values);
  return row!.wait_ms;
}

/** The tokens that are still good. */
export async function extendLeases(
  database: Database,
  leases: Lease[],
  leaseMs: number,
): Promise<Set<string>> {
  const rows = await database.query<{ lease_token: string }>(extendStatement, [
    leases.map((lease) => lease.id),
    leases.map((lease) => lease.leaseToken),
    leaseMs,
  ]);
  return new Set(rows.map((row) => row.lease_token));
}

// Each of these answers false, and changes nothing, when the lease belongs to someone else by now.

export async function markSucceeded(database: Database, lease: Lease): Promise<boolean> {
  return (await database.query(succeedStatement, [lease.id, lease.leaseToken])).length > 0;
}

export async function markForRetry(
  database: Database,
  lease: Lease,
  runAt: Date,
  error: JobFailure,
): Promise<boolean> {
  const values = [lease.id, lease.leaseToken, runAt, JSON.stringify(error)];
  return (await database.query(retryStatement, values)).length > 0;
}

export async function markDead(database: Database, lease: Lease, error: JobFailure): Promise<boolean> {
  return (
    (await database.query(buryStatement, [lease.id, lease.leaseToken, JSON.stringify(error)])).length > 0
  );
}

export async function releaseLease(database: Database, lease: Lease): Promise<boolean> {
  return (await database.query(releaseStatement, [lease.id, lease.leaseToken])).length > 0;
}

export type ReclaimedJob = { id: string; kind: string; status: JobStatus; attempts: number };

export async function reclaimExpired(database: Database): Promise<ReclaimedJob[]> {
  return database.query<ReclaimedJob>(reclaimStatement, []);
}

/** Takes over the jobs of a process that is certainly gone: another process now has its place. */
export async function reclaimPlace(
  database: Database,
  { kinds, place }: { kinds: string[]; place: string },
): Promise<ReclaimedJob[]> {
  return database.query<ReclaimedJob>(reclaimPlaceStatement, [kinds, place]);
}

async function rowsOf<Row>(sql: Sql, query: RawBuilder<unknown>): Promise<Row[]> {
  return (await query.execute(sql)).rows as Row[];
}

function toJob(row: JobRow): Job {
  return {
    id: row.id,
    kind: row.kind,
    payload: row.payload,
    workspaceId: row.workspace_id,
    status: row.status,
    runAt: row.run_at,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    idempotencyKey: row.idempotency_key,
    lastError: row.last_error,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
  };
}
