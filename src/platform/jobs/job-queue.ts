// Own queue, not a library. graphile-worker frees the jobs of a dead worker after a fixed 4 hours and has no heartbeats.
// pg-boss 12 has heartbeats (10 s at least) and opt-in NOTIFY, but polls by default, retries every error alike, finishes
// by job id without a lease token, and brings a schema and migrations of its own. Here: leases with tokens on one table.
import type { Sql } from "../db/database.ts";
import { AppError } from "../errors.ts";
import { newId } from "../ids.ts";
import { defaultMaxAttempts, type Job } from "./job.ts";
import * as store from "./job-store.ts";

export type EnqueueInput = {
  kind: string;
  /** JSON. Keep it small: ids, not documents. */
  payload?: unknown;
  /** Default: at once. */
  runAt?: Date;
  /** At most one unfinished job per kind has the same key. */
  idempotencyKey?: string;
  /** Keeps the key taken after the job has finished, until then. */
  keyExpiresAt?: Date;
  maxAttempts?: number;
  /** For people to filter by; the queue itself does not look at it. */
  workspaceId?: string;
};

/** `created` is false when a job with the same key was there already: `id` is that job's. */
export type Enqueued = { id: string; created: boolean };

/** Part of the caller's transaction: rolled back with it, and workers are notified at its commit. */
export async function enqueue(sql: Sql, input: EnqueueInput): Promise<Enqueued> {
  const key = input.idempotencyKey;
  if (input.keyExpiresAt !== undefined && key === undefined) {
    throw new AppError({
      code: "job.key_missing",
      kind: "internal",
      message: `A ${input.kind} job was given an expiry for its idempotency key but no key. Pass idempotencyKey too.`,
    });
  }
  const job = {
    id: newId(),
    kind: input.kind,
    payload: input.payload ?? {},
    workspaceId: input.workspaceId ?? null,
    runAt: input.runAt ?? null,
    maxAttempts: input.maxAttempts ?? defaultMaxAttempts,
    idempotencyKey: key ?? null,
    keyExpiresAt: input.keyExpiresAt ?? null,
  };
  // The holder may finish, or its key expire, between two statements; then the insert has its turn again.
  for (let round = 0; round < 5; round += 1) {
    if (await store.insertJob(sql, job)) return { id: job.id, created: true };
    if (key === undefined) break;
    await store.dropExpiredKey(sql, input.kind, key);
    const holder = await store.findKeyHolder(sql, input.kind, key);
    if (holder !== undefined) return { id: holder.id, created: false };
  }
  throw new AppError({
    code: "job.key_contended",
    kind: "unavailable",
    message: `The ${input.kind} job with the key "${key}" could not be queued because others kept taking the key. Try again.`,
  });
}

export async function getJob(sql: Sql, id: string): Promise<Job> {
  const job = await store.findJob(sql, id);
  if (job === undefined) throw jobNotFound(id);
  return job;
}

/** The newest first. */
export async function listDead(
  sql: Sql,
  filter: { kind?: string; workspaceId?: string; limit?: number } = {},
): Promise<Job[]> {
  return store.selectDead(sql, { ...filter, limit: filter.limit ?? 100 });
}

export async function countJobs(sql: Sql): Promise<store.JobCount[]> {
  return store.countByStatus(sql);
}

/** Gives a dead job all its attempts again. */
export async function requeueDead(sql: Sql, id: string): Promise<Job> {
  const revived = await store.reviveJob(sql, id);
  if (revived !== undefined) return revived;
  const job = await getJob(sql, id);
  const reason =
    job.status === "dead"
      ? `another ${job.kind} job holds its key "${job.idempotencyKey}". Wait for that one, or cancel it.`
      : `it is ${job.status}. Only dead jobs can be queued again.`;
  throw new AppError({
    code: "job.not_requeued",
    kind: "conflict",
    message: `Job ${id} was not queued again: ${reason}`,
  });
}

/** A running handler's signal is aborted and its result refused. Cancelling twice is no error. */
export async function cancelJob(sql: Sql, id: string): Promise<Job> {
  const cancelled = await store.cancelUnfinished(sql, id);
  if (cancelled !== undefined) return cancelled;
  const job = await getJob(sql, id);
  if (job.status === "cancelled") return job;
  throw new AppError({
    code: "job.finished",
    kind: "conflict",
    message: `Job ${id} cannot be cancelled: it is ${job.status} already.`,
  });
}

/** Cancels the unfinished job that has this key, where there is one. */
export async function cancelByKey(sql: Sql, kind: string, key: string): Promise<void> {
  const holder = await store.findKeyHolder(sql, kind, key);
  if (holder) await store.cancelUnfinished(sql, holder.id);
}

/** Which of these keys unfinished jobs have. */
export async function unfinishedKeys(sql: Sql, kind: string, keys: string[]): Promise<ReadonlySet<string>> {
  return new Set(keys.length === 0 ? [] : await store.findHeldKeys(sql, kind, keys));
}

function jobNotFound(id: string): AppError {
  return new AppError({ code: "job.not_found", kind: "not_found", message: `Job ${id} was not found.` });
}
