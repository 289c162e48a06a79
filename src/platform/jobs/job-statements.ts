import type { Statement } from "../db/database.ts";
import { type JobStatus, jobTransitions } from "./job.ts";

/** The channel jobs are announced on: `due:<kind>` after an enqueue, `cancel:<id>` after a cancellation. */
export const jobChannel = "treadle_jobs";

export const jobColumns = `id, kind, payload, workspace_id, status, run_at, attempts, max_attempts,
  idempotency_key, last_error, created_at, started_at, finished_at`;

const noLease = "lease_owner = null, lease_token = null, lease_expires_at = null";
/** A finished job keeps its key only where the enqueuer asked for that. */
const finish = `${noLease}, finished_at = now(), holds_key = holds_key and coalesce(key_expires_at > now(), false)`;

/** The SQL of one allowed move; a move the transition table does not have fails when the module loads. */
export function move(from: JobStatus, to: JobStatus): { where: string; set: string } {
  if (!jobTransitions[from].includes(to)) throw new Error(`A job cannot go from ${from} to ${to}.`);
  const effect = { pending: `${noLease}, finished_at = null`, running: "started_at = now()" };
  return {
    where: `status = '${from}'`,
    set: `status = '${to}', ${to === "pending" || to === "running" ? effect[to] : finish}`,
  };
}

const start = move("pending", "running");
const succeed = move("running", "succeeded");
const giveBack = move("running", "pending");
const bury = move("running", "dead");

// Leases live by the database's clock alone, so that hosts with different clocks agree on who owns a job.
// run_at is due by the later of the worker's clock and the database's: a host whose clock is slow delays nothing.

/** $1 kinds, $2 now, $3 limit, $4 owner, $5 lease ms */
export const claimStatement: Statement = {
  name: "jobs_claim_v1",
  text: `update jobs
    set ${start.set}, attempts = attempts + 1, lease_owner = $4, lease_token = gen_random_uuid(),
      lease_expires_at = now() + $5::float8 * interval '1 millisecond'
    where id = any(array(
      select id from jobs
      where ${start.where} and run_at <= greatest($2::timestamptz, now()) and kind = any($1::text[])
      order by run_at, id
      limit $3
      for update skip locked
    ))
    returning ${jobColumns}, lease_token`,
};

/** $1 kinds, $2 now, $3 owner. The wait until a job is due or another worker's lease runs out; null: neither. */
export const nextWakeStatement: Statement = {
  name: "jobs_next_wake_v1",
  text: `select (extract(epoch from least(
      (select min(run_at) from jobs where status = 'pending' and kind = any($1::text[]))
        - greatest($2::timestamptz, now()),
      (select min(lease_expires_at) from jobs where status = 'running' and lease_owner <> $3) - now()
    )) * 1000)::float8 as wait_ms`,
};

/**
 * $1 kinds, $2 now, $3 owner. The same for a worker that was not called: above zero, or null, there is nothing to do.
 * Its own leases count once they are over.
 */
export const lookStatement: Statement = {
  name: "jobs_look_v1",
  text: `select (extract(epoch from least(
      (select min(run_at) from jobs where status = 'pending' and kind = any($1::text[]))
        - greatest($2::timestamptz, now()),
      (select min(lease_expires_at) from jobs
        where status = 'running' and (lease_owner <> $3 or lease_expires_at <= now())) - now()
    )) * 1000)::float8 as wait_ms`,
};

/** $1 ids, $2 tokens, $3 lease ms. A job that is missing from the answer has lost its lease. */
export const extendStatement: Statement = {
  name: "jobs_extend_v1",
  text: `update jobs set lease_expires_at = now() + $3::float8 * interval '1 millisecond'
    from unnest($1::uuid[], $2::uuid[]) as held (id, token)
    where jobs.id = held.id and jobs.lease_token = held.token and jobs.status = 'running'
    returning jobs.lease_token`,
};

/** $1 id, $2 token */
export const succeedStatement: Statement = {
  name: "jobs_succeed_v1",
  text: `update jobs set ${succeed.set}, last_error = null
    where id = $1 and lease_token = $2 and ${succeed.where} returning id`,
};

/** $1 id, $2 token, $3 run at, $4 error */
export const retryStatement: Statement = {
  name: "jobs_retry_v1",
  text: `with retried as (
      update jobs set ${giveBack.set}, run_at = $3, last_error = $4
      where id = $1 and lease_token = $2 and ${giveBack.where} returning id, kind
    )
    select id, pg_notify('${jobChannel}', 'due:' || kind) from retried`,
};

/** $1 id, $2 token. The attempt was interrupted, not failed, so it is not counted. */
export const releaseStatement: Statement = {
  name: "jobs_release_v1",
  text: `with released as (
      update jobs set ${giveBack.set}, attempts = attempts - 1
      where id = $1 and lease_token = $2 and ${giveBack.where} returning id, kind
    )
    select id, pg_notify('${jobChannel}', 'due:' || kind) from released`,
};

/** $1 id, $2 token, $3 error */
export const buryStatement: Statement = {
  name: "jobs_bury_v1",
  text: `update jobs set ${bury.set}, last_error = $3
    where id = $1 and lease_token = $2 and ${bury.where} returning id`,
};

const lostWorkerError = `jsonb_build_object('code', 'job.worker_lost', 'retryable', true, 'attempt', attempts,
  'message', 'The worker ' || lease_owner || ' stopped answering while it ran this job.')`;
const expired = (attemptsLeft: string) => `id = any(array(
    select id from jobs
    where status = 'running' and lease_expires_at <= now() and ${attemptsLeft}
    for update skip locked
  ))`;

/** $1 kinds, $2 place. Jobs that were held there, even if their lease has not ended. */
export const reclaimPlaceStatement: Statement = {
  name: "jobs_reclaim_place_v1",
  text: `update jobs set ${giveBack.set}, last_error = ${lostWorkerError}
    where status = 'running' and kind = any($1::text[]) and starts_with(lease_owner, $2 || ':')
    returning id, kind, status, attempts`,
};

/** Jobs of workers that died: back into the queue, or to the dead when no attempt is left. */
export const reclaimStatement: Statement = {
  name: "jobs_reclaim_v1",
  text: `with returned as (
      update jobs set ${giveBack.set}, last_error = ${lostWorkerError}
      where ${expired("attempts < max_attempts")} returning id, kind, status, attempts
    ), buried as (
      update jobs set ${bury.set}, last_error = ${lostWorkerError}
      where ${expired("attempts >= max_attempts")} returning id, kind, status, attempts
    )
    select * from returned union all select * from buried`,
};
