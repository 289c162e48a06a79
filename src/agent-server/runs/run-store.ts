import type { Database, Sql, Statement } from "../../platform/db/database.ts";
import { type RawBuilder, raw } from "../../platform/db/raw.ts";
import { textArray } from "../../platform/db/text-array.ts";
import type { EventNumbers, ThreadEvent } from "../delivery/thread-event.ts";
import type { ThreadTtl } from "../threads/thread.ts";
import { wordBitsOf } from "../threads/thread-words.ts";
import {
  type CancelAction,
  type ClaimedRun,
  maxAttempts,
  type Run,
  type RunHead,
  type RunKwargs,
  type RunOutcome,
  type RunStatus,
} from "./run.ts";
import { beginningOf } from "./run-beginning.ts";
import {
  claimLoneRun,
  claimRuns,
  exhaustedRuns,
  expireLeases,
  findRun,
  findRunHead,
  findTargets,
  finishRuns,
  handBack,
  heartbeatRuns,
  insertRuns,
  lookForWork,
  runColumns,
  runStatus,
  runsOfProcess,
} from "./run-statements.ts";

export type RunRow = Omit<Run, "kwargs" | "error"> & { kwargs_json: string; error_json: string | null };

export function toRun(row: RunRow): Run {
  const { kwargs_json, error_json, ...rest } = row;
  return {
    ...rest,
    kwargs: JSON.parse(kwargs_json) as RunKwargs,
    error: error_json === null ? null : JSON.parse(error_json),
  };
}

type ClaimedRow = RunRow & Pick<ClaimedRun, "last_seq" | "protocol_seq" | "protocol" | "excused" | "alone">;

function toClaimed(row: ClaimedRow, leaseUntil: number): ClaimedRun {
  const { last_seq, protocol_seq, protocol, excused, alone, ...run } = row;
  const numbers = { last_seq: Number(last_seq), protocol_seq: Number(protocol_seq) };
  return { ...toRun(run), ...numbers, protocol, excused, alone, leaseUntil };
}

export type TargetQuery = { workspaceId: string; threadId: string | null; assistantId: string };
export type Target = {
  thread_id: string | null;
  thread_metadata: Record<string, unknown> | null;
  thread_config: Record<string, unknown> | null;
  assistant_id: string | null;
  graph_id: string | null;
  assistant_config: Record<string, unknown> | null;
  assistant_context: Record<string, unknown> | null;
  assistant_metadata: Record<string, unknown> | null;
};

export async function findRunTargets(database: Database, queries: readonly TargetQuery[]): Promise<Target[]> {
  return database.query<Target>(findTargets, [
    queries.map((query) => query.workspaceId),
    queries.map((query) => query.threadId),
    queries.map((query) => query.assistantId),
  ]);
}

export type NewRun = {
  runId: string;
  threadId: string;
  workspaceId: string;
  assistantId: string;
  graphId: string;
  strategy: string;
  metadata: Record<string, unknown>;
  kwargsJson: string;
  temporary: boolean;
  createThread: boolean;
  claim: boolean;
  delaySeconds: number;
  threadMetadata: Record<string, unknown>;
  threadConfig: Record<string, unknown>;
  threadTtl: ThreadTtl | null;
  /** Started by a client of the streaming protocol: a thread that is made with it is marked as one with such clients. */
  speaksProtocol: boolean;
};

export type InsertedRun = {
  thread_found: boolean;
  new_thread: boolean;
  active: boolean;
  protocol: boolean;
  /** The last place in the thread's log before the run. */
  last_seq: number;
  protocol_seq: number;
  /** Null when the run was refused: no such thread, or `reject` on a busy one. */
  status: RunStatus | null;
  attempt: number | null;
  created_at: Date | null;
  /** For a run that runs at once, by this process's monotonic clock. */
  leaseUntil: number;
};

export async function insertNewRuns(
  database: Database,
  rows: readonly NewRun[],
  owner: string,
  leaseSeconds: number,
  turn = 0,
): Promise<InsertedRun[]> {
  const leaseUntil = performance.now() + leaseSeconds * 1000;
  const inserted = await database.query<InsertedRun>(insertRuns, [
    rows.map((row) => row.runId),
    rows.map((row) => row.threadId),
    rows.map((row) => row.workspaceId),
    rows.map((row) => row.assistantId),
    textArray(rows.map((row) => row.graphId)),
    textArray(rows.map((row) => row.strategy)),
    textArray(rows.map((row) => JSON.stringify(row.metadata))),
    textArray(rows.map((row) => row.kwargsJson)),
    rows.map((row) => row.temporary),
    rows.map((row) => row.createThread),
    rows.map((row) => row.claim),
    rows.map((row) => row.delaySeconds),
    textArray(rows.map((row) => JSON.stringify(row.threadMetadata))),
    textArray(rows.map((row) => JSON.stringify(row.threadConfig))),
    owner,
    leaseSeconds,
    rows.map((row) => row.threadTtl?.minutes ?? null),
    rows.map((row) => row.threadTtl?.strategy ?? null),
    rows.map((row) => row.speaksProtocol),
    turn,
    textArray(rows.map((row) => beginningOf({ run_id: row.runId, attempt: 1 }))),
  ]);
  for (const row of inserted) row.leaseUntil = leaseUntil;
  return inserted;
}

export type ClaimOptions = {
  limit: number;
  owner: string;
  leaseSeconds: number;
  graphIds: readonly string[];
};

export async function claimDueRuns(database: Database, options: ClaimOptions): Promise<ClaimedRun[]> {
  return claim(database, claimRuns, options, []);
}

/** A run that is to have a process to itself. `idle`: this one has nothing else to do. */
export async function claimDueLoneRun(
  database: Database,
  options: Omit<ClaimOptions, "limit"> & { idle: boolean },
): Promise<ClaimedRun | undefined> {
  const [run] = await claim(database, claimLoneRun, { ...options, limit: 1 }, [options.idle]);
  return run;
}

async function claim(
  database: Database,
  statement: Statement,
  options: ClaimOptions,
  more: unknown[],
): Promise<ClaimedRun[]> {
  const leaseUntil = performance.now() + options.leaseSeconds * 1000;
  const { limit, owner, leaseSeconds, graphIds } = options;
  const rows = await database.query<ClaimedRow>(statement, [limit, owner, leaseSeconds, graphIds, ...more]);
  return rows.map((row) => toClaimed(row, leaseUntil));
}

/** What there is to do; `next_due_ms` from now. */
export type WorkToDo = { expired: boolean; due: boolean; lone: boolean; next_due_ms: number | null };

export async function findWork(database: Database): Promise<WorkToDo> {
  const [work] = await database.background<WorkToDo>(lookForWork, []);
  return work!;
}

export async function extendLeases(
  database: Database,
  runIds: readonly string[],
  owner: string,
  leaseSeconds: number,
): Promise<{ run_id: string; attempt: number; cancel_action: CancelAction | null }[]> {
  return database.query(heartbeatRuns, [owner, leaseSeconds, runIds]);
}

export async function requeueExpired(database: Database, attempts: number): Promise<{ run_id: string }[]> {
  return database.query(expireLeases, [attempts]);
}

export async function findExhausted(database: Database, attempts: number): Promise<ClaimedRun[]> {
  const rows = await database.query<ClaimedRow>(exhaustedRuns, [attempts]);
  return rows.map((row) => toClaimed(row, 0));
}

export type HandedBackRun = { runId: string; attempt: number; excused: boolean; alone: boolean | null };

export async function handBackRuns(
  database: Database,
  runs: readonly HandedBackRun[],
  owner: string,
): Promise<void> {
  await database.query(handBack, [
    runs.map((run) => run.runId),
    runs.map((run) => run.attempt),
    runs.map((run) => run.excused),
    runs.map((run) => run.alone),
    owner,
    maxAttempts,
  ]);
}

export async function findRunsOf(
  database: Database,
  owner: string,
): Promise<{ run_id: string; attempt: number; excused: number }[]> {
  return database.query(runsOfProcess, [owner]);
}

export type FinishedRun = {
  run: Pick<ClaimedRun, "run_id" | "attempt">;
  outcome: RunOutcome;
  /** The last entries of its log. */
  events: readonly ThreadEvent[];
  /** The last numbers given out, with those of the events. */
  numbers: EventNumbers;
  /** How long its thread is kept, which goes with it; null for a thread that stays. */
  keepSeconds: number | null;
};

export async function finishRunRows(
  database: Database,
  rows: readonly FinishedRun[],
): Promise<{ accepted: boolean; more: boolean }[]> {
  const events = rows.flatMap((row) => row.events);
  return database.query(finishRuns, [
    rows.map((row) => row.run.run_id),
    rows.map((row) => row.run.attempt),
    textArray(rows.map((row) => row.outcome.status)),
    textArray(rows.map((row) => (row.outcome.error ? JSON.stringify(row.outcome.error) : null))),
    textArray(rows.map((row) => row.outcome.threadStatus)),
    textArray(rows.map((row) => row.outcome.valuesJson)),
    textArray(rows.map((row) => row.outcome.interruptsJson)),
    rows.map((row) => row.numbers.seq),
    events.map((event) => event.runId),
    events.map((event) => event.seq),
    textArray(events.map((event) => event.family)),
    textArray(events.map((event) => event.name)),
    textArray(events.map((event) => event.namespace)),
    textArray(events.map((event) => event.data)),
    events.map((event) => event.number),
    rows.map((row) => row.numbers.protocol),
    textArray(rows.map((row) => wordBitsOf(row.outcome.valuesJson))),
    rows.map((row) => row.keepSeconds),
  ]);
}

/** From now on the fence refuses writes of the process that held the run. */
export async function fenceOff(sql: Sql, runId: string): Promise<void> {
  await raw`update runs set attempt = attempt + 1 where run_id = ${runId}`.execute(sql);
}

export async function findRunById(
  database: Database,
  workspaceId: string,
  runId: string,
): Promise<Run | null> {
  const [row] = await database.query<RunRow>(findRun, [runId, workspaceId]);
  return row ? toRun(row) : null;
}

export async function findRunHeadById(
  database: Database,
  workspaceId: string,
  runId: string,
): Promise<RunHead | null> {
  const [row] = await database.query<RunHead>(findRunHead, [runId, workspaceId]);
  return row ?? null;
}

/** Null when the run is gone. */
export async function findRunStatus(database: Database, runId: string): Promise<RunStatus | null> {
  const [row] = await database.query<{ status: RunStatus }>(runStatus, [runId]);
  return row?.status ?? null;
}

const columns = raw.raw(runColumns);

export async function listRuns(
  sql: Sql,
  query: { workspaceId: string; threadId: string; status?: string; limit: number; offset: number },
): Promise<Run[]> {
  const { rows } = await raw<RunRow>`select ${columns} from runs
    where thread_id = ${query.threadId} and workspace_id = ${query.workspaceId}
      and (${query.status ?? null}::text is null or status = ${query.status ?? null})
    order by created_at desc, run_id desc limit ${query.limit} offset ${query.offset}`.execute(sql);
  return rows.map(toRun);
}

const headColumns = raw.raw("run_id, thread_id, workspace_id, graph_id, status");

/** Locks the active runs of a thread until the transaction ends, so that a strategy acts on what is really there. */
export async function lockActiveRuns(sql: Sql, workspaceId: string, threadId: string): Promise<RunHead[]> {
  const { rows } = await raw<RunHead>`select ${headColumns} from runs
    where thread_id = ${threadId} and workspace_id = ${workspaceId} and status in ('pending', 'running')
    order by created_at, run_id for update`.execute(sql);
  return rows;
}

/** Locks a run until the transaction ends. Its status; null when it is gone. */
export async function lockRun(sql: Sql, runId: string): Promise<RunStatus | null> {
  const { rows } = await raw<{
    status: RunStatus;
  }>`select status from runs where run_id = ${runId} for update`.execute(sql);
  return rows[0]?.status ?? null;
}

export type ActiveRunFilter = {
  status?: "pending" | "running" | "all";
  threadId?: string;
  runIds?: string[];
  /** What the metadata of the runs' threads must fulfil. */
  threadCondition?: RawBuilder<unknown> | undefined;
};

export async function findActiveRuns(
  sql: Sql,
  workspaceId: string,
  filter: ActiveRunFilter,
): Promise<RunHead[]> {
  const { rows } = await raw<RunHead>`select ${headColumns} from runs
    where workspace_id = ${workspaceId} and status in ('pending', 'running')
      and (${filter.status ?? "all"}::text = 'all' or status = ${filter.status ?? "all"}::text)
      and (${filter.threadId ?? null}::uuid is null or thread_id = ${filter.threadId ?? null}::uuid)
      and (${filter.runIds ?? null}::uuid[] is null or run_id = any(${filter.runIds ?? null}::uuid[]))
      and ${filter.threadCondition ? raw`thread_id in (select t.thread_id from threads t where t.workspace_id = ${workspaceId} and ${filter.threadCondition})` : raw`true`}
    limit 10000`.execute(sql);
  return rows;
}

/** Asks the holder of a running run to stop. */
export async function requestCancel(sql: Sql, runId: string, action: CancelAction): Promise<void> {
  await raw`update runs set cancel_action = ${action}, updated_at = now()
    where run_id = ${runId} and status = 'running'`.execute(sql);
}

/** Ends a run that never began. */
export async function interruptPending(sql: Sql, runId: string): Promise<void> {
  await raw`update runs set status = 'interrupted', updated_at = now(), ended_at = now()
    where run_id = ${runId} and status = 'pending'`.execute(sql);
}

export async function deleteRuns(sql: Sql, runIds: string[]): Promise<void> {
  await raw`delete from thread_events where run_id = any(${runIds}::uuid[])`.execute(sql);
  await raw`delete from runs where run_id = any(${runIds}::uuid[])`.execute(sql);
}

/** A thread without work goes back to the status of its last checkpoint; called after runs were removed. */
export async function settleThread(sql: Sql, threadId: string): Promise<void> {
  await raw`update threads set status = case when interrupts_json = '{}' then 'idle' else 'interrupted' end, updated_at = now()
    where thread_id = ${threadId} and status = 'busy'
      and not exists (select 1 from runs where thread_id = ${threadId} and status in ('pending', 'running'))`.execute(
    sql,
  );
}
