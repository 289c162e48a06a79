import { AppError, errorMessage } from "../errors.ts";

export const jobStatuses = ["pending", "running", "succeeded", "dead", "cancelled"] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** Every move a job may make. The SQL is built from this table, so a statement cannot make another one. */
export const jobTransitions: Record<JobStatus, readonly JobStatus[]> = {
  pending: ["running", "cancelled"],
  running: ["succeeded", "pending", "dead", "cancelled"],
  succeeded: [],
  dead: ["pending"],
  cancelled: [],
};

/** What stopped the last attempt; kept on the row for people to read. */
export type JobFailure = { code: string; message: string; retryable: boolean; attempt: number };

export type Job = {
  id: string;
  kind: string;
  payload: unknown;
  workspaceId: string | null;
  status: JobStatus;
  runAt: Date;
  /** Attempts begun, the current one included. */
  attempts: number;
  maxAttempts: number;
  idempotencyKey: string | null;
  lastError: JobFailure | null;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
};

/** A job this process may work on, until another one gets a newer token for it. */
export type LeasedJob = Job & { leaseToken: string };

export type Backoff = { firstMs: number; maxMs: number };

export const defaultBackoff: Backoff = { firstMs: 1_000, maxMs: 10 * 60_000 };
export const defaultMaxAttempts = 8;

const maxMessageLength = 4_000;

/** Doubles with each attempt; the upper half is random so that jobs which failed together do not return together. */
export function backoffMs(attempts: number, random: number, backoff: Backoff = defaultBackoff): number {
  const ceiling = Math.min(backoff.maxMs, backoff.firstMs * 2 ** (attempts - 1));
  return Math.round(ceiling / 2 + (ceiling / 2) * random);
}

export type NextAttempt = { status: "pending"; runAt: Date } | { status: "dead" };

/** Only an error that calls itself retryable is tried again: repeating a defect repeats its damage. */
export function nextAttempt(input: {
  error: unknown;
  attempts: number;
  maxAttempts: number;
  now: Date;
  random: number;
  backoff?: Backoff;
}): NextAttempt {
  const retryable = input.error instanceof AppError && input.error.retryable;
  if (!retryable || input.attempts >= input.maxAttempts) return { status: "dead" };
  return {
    status: "pending",
    runAt: new Date(input.now.getTime() + backoffMs(input.attempts, input.random, input.backoff)),
  };
}

export function describeFailure(error: unknown, attempt: number): JobFailure {
  const known = error instanceof AppError;
  return {
    code: known ? error.code : "job.defect",
    message: storableText(errorMessage(error)).slice(0, maxMessageLength),
    retryable: known && error.retryable,
    attempt,
  };
}

/** jsonb refuses NUL and half surrogates, and a failure with any text must be recordable. */
function storableText(text: string): string {
  return text.replaceAll("\u0000", "\uFFFD").toWellFormed();
}

export type Occurrence = { key: string; runAt: Date; endsAt: Date };

/**
 * The occurrence of a recurring job that `now` falls into. Periods are counted from the Unix epoch, so all
 * processes agree on them without talking to one another.
 */
export function occurrenceAt(now: Date, everyMs: number): Occurrence {
  const period = Math.floor(now.getTime() / everyMs);
  return {
    key: `every-${everyMs}-${period}`,
    runAt: new Date(period * everyMs),
    endsAt: new Date((period + 1) * everyMs),
  };
}
