import type { Database } from "../../platform/db/database.ts";
import { sqlState } from "../../platform/db/database-errors.ts";
import { WriteBatcher } from "../../platform/db/write-batcher.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { assistantNotFound, resolveAssistantId } from "../assistants/assistant.ts";
import type { AgentGuard } from "../auth/agent-guard.ts";
import { permitRun } from "../auth/run-permit.ts";
import { type JoinPoint, joinPointOf } from "../delivery/join-point.ts";
import { terminalRow } from "../delivery/terminal-event.ts";
import type { ThreadFeed } from "../delivery/thread-feed.ts";
import type { GraphRegistry } from "../graphs/graph-registry.ts";
import { type ThreadTtl, threadNotFound } from "../threads/thread.ts";
import {
  type CancelAction,
  type ClaimedRun,
  isActive,
  type Run,
  type RunHead,
  type RunKwargs,
  runsChannel,
} from "./run.ts";
import type { RunAnnouncer } from "./run-announcer.ts";
import type { RunResult } from "./run-end.ts";
import { endRolledBackRun, tellUnbegunEnd } from "./run-end-store.ts";
import type { RunHolder } from "./run-holder.ts";
import { type RunPreconditions, requireCheckpoint, requireTracing } from "./run-preconditions.ts";
import { buildKwargs, type RunRequest, runMetadata, withPermitted } from "./run-request.ts";
import {
  type ActiveRunFilter,
  deleteRuns,
  fenceOff,
  findActiveRuns,
  findRunById,
  findRunHeadById,
  findRunStatus,
  findRunTargets,
  type InsertedRun,
  insertNewRuns,
  interruptPending,
  lockActiveRuns,
  type NewRun,
  requestCancel,
  settleThread,
  type Target,
  type TargetQuery,
} from "./run-store.ts";

export type RunServiceOptions = RunPreconditions & {
  database: Database;
  graphs: GraphRegistry;
  feed: ThreadFeed;
  worker: RunHolder;
  processId: string;
  /** Makes sure the default assistants of a workspace exist. */
  ensureDefaults(workspaceId: string): Promise<void>;
  /** The project's own authorization, if it has one. */
  guard?: AgentGuard | undefined;
  webhooks: RunAnnouncer;
  /** TTL of threads that are made with a run. */
  defaultTtl: ThreadTtl | null;
  /** Resolves when no checkpoint of this process is on its way to the database. */
  drainCheckpoints(): Promise<void>;
  /** Removes a run's checkpoints and brings the thread's values back to what is left. */
  forgetCheckpoints(run: Pick<Run, "run_id" | "thread_id" | "graph_id" | "workspace_id">): Promise<void>;
};

export type CreatedRun = {
  /** As it begins: `pending`, also when this process has taken it at once. */
  run: Run;
  /** Events of the run come after this place in the thread's log. */
  afterSeq: number;
  /** The last number of the streaming protocol on the thread before the run. */
  protocolSeq: number;
  /** Present when this process runs it. */
  result: Promise<RunResult | null> | undefined;
};

/** Use cases of runs: create with a multitask strategy, cancel, delete. */
export class RunService {
  readonly #options: RunServiceOptions;
  readonly #targets: WriteBatcher<TargetQuery, Target>;
  readonly #inserts: WriteBatcher<NewRun, InsertedRun>;

  constructor(options: RunServiceOptions) {
    this.#options = options;
    const { database } = options;
    this.#targets = new WriteBatcher<TargetQuery, Target>({
      name: "run_targets",
      lanes: 2,
      maxRows: 200,
      maxBytes: 1_000_000,
      write: (rows) => findRunTargets(database, rows),
    });
    this.#inserts = new WriteBatcher<NewRun, InsertedRun>({
      name: "run_inserts",
      lanes: 2,
      maxRows: 200,
      maxBytes: 4_000_000,
      bytesOf: (row) => row.kwargsJson.length + 500,
      write: (rows) => insertNewRuns(database, rows, options.processId, options.worker.leaseSeconds),
      // Another run of the thread began at the same moment: tried again, this one finds it there.
      mayPass: (error) => sqlState(error) === "23505",
    });
  }

  /** `threadId` null: a thread is made for this run alone. */
  async create(workspaceId: string, threadId: string | null, request: RunRequest): Promise<CreatedRun> {
    if (request.webhook) await this.#options.webhooks.check(request.webhook);
    requireTracing(this.#options, request);
    await this.#options.ensureDefaults(workspaceId);
    const assistantId = resolveAssistantId(this.#options.graphs, request.assistant_id);
    const target = await this.#targets.add({ workspaceId, threadId, assistantId });
    if (!target.assistant_id || !target.graph_id) throw assistantNotFound(request.assistant_id);
    // Fails here, with a sentence, when the graph is unknown or could not be loaded.
    this.#options.graphs.get(target.graph_id);
    await requireCheckpoint(this.#options, threadId, request);
    const createThread =
      threadId === null || (target.thread_id === null && request.if_not_exists === "create");
    if (!createThread && target.thread_id === null) throw threadNotFound(threadId!);
    const run = this.#newRun(workspaceId, threadId ?? newId(), target, request, createThread);
    await this.#permit(run, request);
    if (request.multitask_strategy === "interrupt" || request.multitask_strategy === "rollback") {
      await this.#makeWay(workspaceId, run.threadId, request.multitask_strategy);
    }
    return this.#insert(run, request);
  }

  /** What the project's authorization adds to the run, and to the thread that is made with it, becomes part of them. */
  async #permit(run: NewRun, request: RunRequest): Promise<void> {
    const { guard, database } = this.#options;
    if (!guard || !request.caller?.principal) return;
    const given = request.metadata ?? {};
    const kwargs = JSON.parse(run.kwargsJson) as RunKwargs;
    const permit = await permitRun(guard, database, request.caller, {
      threadId: run.threadId,
      createThread: run.createThread,
      assistantId: run.assistantId,
      metadata: given,
      multitaskStrategy: request.multitask_strategy,
      ifNotExists: request.if_not_exists,
      afterSeconds: request.after_seconds,
      kwargs: structuredClone(kwargs),
    });
    const permitted = withPermitted(kwargs, permit.kwargs);
    if (permitted.webhook && permitted.webhook !== kwargs.webhook) {
      await this.#options.webhooks.check(permitted.webhook);
    }
    run.kwargsJson = JSON.stringify(permitted);
    const ids = { graph_id: run.graphId, assistant_id: run.assistantId };
    run.metadata = { ...run.metadata, ...permit.metadata, ...ids };
    run.threadMetadata = { ...permit.threadMetadata, ...run.threadMetadata };
  }

  #newRun(
    workspaceId: string,
    threadId: string,
    target: Target,
    request: RunRequest,
    createThread: boolean,
  ): NewRun {
    const runId = newId();
    const ids = {
      run_id: runId,
      thread_id: threadId,
      graph_id: target.graph_id!,
      assistant_id: target.assistant_id!,
    };
    return {
      runId,
      threadId,
      workspaceId,
      assistantId: ids.assistant_id,
      graphId: ids.graph_id,
      strategy: request.multitask_strategy,
      metadata: runMetadata(target, request, ids),
      kwargsJson: JSON.stringify(buildKwargs(target, request, ids)),
      temporary: request.temporary,
      createThread,
      claim: false,
      delaySeconds: request.after_seconds ?? 0,
      threadMetadata: createThread
        ? { ...request.threadMetadata, graph_id: ids.graph_id, assistant_id: ids.assistant_id }
        : {},
      threadConfig: {},
      threadTtl: createThread && !request.temporary ? this.#options.defaultTtl : null,
      speaksProtocol: request.protocol === true,
    };
  }

  async #insert(run: NewRun, request: RunRequest): Promise<CreatedRun> {
    const { worker } = this.#options;
    const claim = run.delaySeconds === 0 && worker.reserve();
    try {
      const inserted = await this.#insertRow({ ...run, claim });
      if (!inserted.status)
        throw inserted.thread_found ? threadBusy(run.threadId) : threadNotFound(run.threadId);
      const row = toCreated(run, inserted, request);
      const afterSeq = Number(inserted.last_seq);
      const protocolSeq = Number(inserted.protocol_seq);
      if (inserted.status === "running") {
        return {
          run: { ...row, status: "pending", started_at: null },
          afterSeq,
          protocolSeq,
          result: worker.begin({
            ...row,
            last_seq: afterSeq,
            protocol_seq: protocolSeq,
            protocol: inserted.protocol,
            excused: 0,
            alone: false,
            leaseUntil: inserted.leaseUntil,
            newThread: inserted.new_thread,
          }),
        };
      }
      if (inserted.status === "pending") this.#options.worker.wakeAll();
      return { run: row, afterSeq, protocolSeq, result: undefined };
    } finally {
      if (claim) worker.release();
    }
  }

  /** A thread that somebody else makes at the same moment is there, though the statement could not see it yet. */
  async #insertRow(run: NewRun): Promise<InsertedRun> {
    const inserted = await this.#inserts.add(run);
    return inserted.thread_found || !run.createThread ? inserted : this.#inserts.add(run);
  }

  /** Stops what is in the way of a new run: `interrupt` keeps its progress, `rollback` removes it. */
  async #makeWay(workspaceId: string, threadId: string, action: CancelAction): Promise<void> {
    const active = await this.#options.database.sql
      .transaction()
      .execute((tx) => lockActiveRuns(tx, workspaceId, threadId));
    for (const run of active) await this.cancel(run, action);
    const running = active.filter((run) => run.status === "running");
    await Promise.all(
      running.map((run) => this.waitForEnd(run.thread_id, run.run_id, AbortSignal.timeout(60_000))),
    );
  }

  /** Asks a run to stop. A pending one ends at once; a running one when its graph has let go. */
  async cancel(
    run: Pick<Run, "run_id" | "thread_id" | "graph_id" | "workspace_id">,
    action: CancelAction,
  ): Promise<void> {
    const { database, worker } = this.#options;
    const ended = await database.transaction(async (tx) => {
      const [interrupted] = await interruptPending(tx, [run.run_id]);
      if (interrupted === undefined) return false;
      if (action === "rollback") await deleteRuns(tx, [run.run_id]);
      else await this.#options.webhooks.announceCancelled(tx, run.run_id);
      await tellUnbegunEnd(tx, run, {
        terminal: terminalRow(run, { status: "interrupted", error: null }, Date.now()),
        endJson: JSON.stringify({ status: "interrupted", error: null }),
      });
      return true;
    });
    if (ended) {
      await settleThread(database.sql, run.thread_id);
      this.#options.feed.touch(run.thread_id);
      return;
    }
    if (!(await requestCancel(database.sql, run.run_id, action))) return;
    if (!worker.cancel(run.run_id, action))
      await database.notify(runsChannel, `cancel:${run.run_id}:${action}`);
  }

  async cancelMany(workspaceId: string, filter: ActiveRunFilter, action: CancelAction): Promise<number> {
    const found = await findActiveRuns(this.#options.database.sql, workspaceId, filter);
    for (const { run_id } of found) {
      const run = await findRunById(this.#options.database, workspaceId, run_id);
      if (run) await this.cancel(run, action);
    }
    return found.length;
  }

  /** Ends everything on a thread, for example because the thread is about to go. */
  async stopThread(workspaceId: string, threadId: string): Promise<void> {
    const active = await findActiveRuns(this.#options.database.sql, workspaceId, { threadId });
    for (const { run_id } of active) {
      const run = await findRunById(this.#options.database, workspaceId, run_id);
      if (!run) continue;
      await this.cancel(run, "interrupt");
      await this.waitForEnd(threadId, run_id, AbortSignal.timeout(60_000));
    }
  }

  /** Called by the worker when a run was cancelled with `rollback`: as if it had never been. */
  async rollback(run: ClaimedRun, end: RunResult): Promise<void> {
    // A checkpoint still on its way must not arrive after the others were removed: from here on the fence refuses
    // new ones, and those under way are waited for.
    await fenceOff(this.#options.database.sql, run.run_id);
    await this.#options.drainCheckpoints();
    await this.#options.forgetCheckpoints(run);
    await this.#options.database.transaction(async (tx) => {
      await deleteRuns(tx, [run.run_id]);
      await endRolledBackRun(tx, run, end);
      await settleThread(tx, run.thread_id);
    });
  }

  async find(workspaceId: string, runId: string): Promise<Run> {
    const run = await findRunById(this.#options.database, workspaceId, runId);
    if (!run) throw runNotFound(runId);
    return run;
  }

  /** What it takes to follow a run. */
  async head(workspaceId: string, runId: string, threadId?: string): Promise<RunHead> {
    const head = await findRunHeadById(this.#options.database, workspaceId, runId);
    if (!head || (threadId !== undefined && head.thread_id !== threadId)) throw runNotFound(runId);
    return head;
  }

  async get(workspaceId: string, threadId: string, runId: string): Promise<Run> {
    const run = await this.find(workspaceId, runId);
    if (run.thread_id !== threadId) throw runNotFound(runId);
    return run;
  }

  joinPoint(run: RunHead, lastEventId: string | undefined): Promise<JoinPoint> {
    return joinPointOf(this.#options.database, run, lastEventId);
  }

  async statusOf(runId: string): Promise<"active" | "over"> {
    const status = await findRunStatus(this.#options.database, runId);
    return status !== null && isActive(status) ? "active" : "over";
  }

  async remove(workspaceId: string, threadId: string, runId: string): Promise<void> {
    const run = await this.head(workspaceId, runId, threadId);
    if (isActive(run.status)) {
      await this.cancel(run, "rollback");
      await this.waitForEnd(threadId, runId, AbortSignal.timeout(60_000));
      return;
    }
    await this.#options.forgetCheckpoints(run);
    await this.#options.database.transaction((tx) => deleteRuns(tx, [runId]));
  }

  /** Resolves when the run is over, wherever it runs; rejects when the signal fires first. */
  async waitForEnd(threadId: string, runId: string, signal: AbortSignal): Promise<void> {
    const { worker, feed } = this.#options;
    for await (const _ of feed.changes(threadId, signal)) {
      const local = worker.resultOf(runId);
      if (local) await local;
      if ((await this.statusOf(runId)) === "over") return;
    }
    throw new AppError({
      code: "run.wait_ended",
      kind: "unavailable",
      message: `Waiting for run ${runId} was cut short.`,
    });
  }
}

function toCreated(run: NewRun, inserted: InsertedRun, request: RunRequest): Run {
  const at = inserted.created_at!;
  return {
    run_id: run.runId,
    thread_id: run.threadId,
    workspace_id: run.workspaceId,
    assistant_id: run.assistantId,
    graph_id: run.graphId,
    status: inserted.status!,
    multitask_strategy: request.multitask_strategy,
    metadata: run.metadata,
    kwargs: JSON.parse(run.kwargsJson),
    temporary: run.temporary,
    attempt: inserted.attempt!,
    cancel_action: null,
    error: null,
    created_at: at,
    updated_at: at,
    started_at: inserted.status === "running" ? at : null,
    ended_at: null,
  };
}

export function runNotFound(id: string): AppError {
  return new AppError({ code: "run.not_found", kind: "not_found", message: `Run with ID ${id} not found` });
}

function threadBusy(id: string): AppError {
  return new AppError({
    code: "run.thread_busy",
    kind: "conflict",
    message: `Thread ${id} is already running a task. Wait for it to finish or choose another multitask strategy.`,
  });
}
