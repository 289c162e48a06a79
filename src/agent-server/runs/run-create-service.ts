import { Batcher } from "../../platform/db/batch/batcher.ts";
import type { Database } from "../../platform/db/database.ts";
import { sqlState } from "../../platform/db/database-errors.ts";
import { AppError } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { assistantNotFound, resolveRunAssistantId } from "../assistants/assistant.ts";
import type { AgentGuard } from "../auth/agent-guard.ts";
import { permitRun } from "../auth/run-permit.ts";
import type { RunnableGraphs } from "../graphs/graph-registry.ts";
import { type ThreadTtl, threadNotFound } from "../threads/thread.ts";
import type { CancelAction, Run, RunKwargs } from "./run.ts";
import type { RunAnnouncer } from "./run-announcer.ts";
import type { RunResult } from "./run-end.ts";
import type { RunHolder } from "./run-holder.ts";
import { type RunPreconditions, requireCheckpoint, requireTracing } from "./run-preconditions.ts";
import { buildKwargs, type RunRequest, runMetadata, shownKwargs, withPermitted } from "./run-request.ts";
import {
  findRunTargets,
  type InsertedRun,
  insertNewRuns,
  type NewRun,
  type Target,
  type TargetQuery,
} from "./run-store.ts";

export type RunCreateOptions = RunPreconditions & {
  database: Database;
  graphs: RunnableGraphs;
  worker: Pick<RunHolder, "leaseSeconds" | "reserve" | "release" | "begin" | "wake">;
  processId: string;
  /** Makes sure the default assistants of a workspace exist. */
  ensureDefaults(workspaceId: string): Promise<void>;
  /** The project's own authorization, if it has one. */
  guard?: AgentGuard | undefined;
  webhooks: Pick<RunAnnouncer, "check">;
  /** TTL of threads that are made with a run. */
  defaultTtl: ThreadTtl | null;
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

/** A run before it is stored. */
type RunDraft = Omit<NewRun, "kwargsJson" | "claim"> & { kwargs: RunKwargs };

/** Stops the runs that block a run, if that run asks for it. */
type MakeWay = (workspaceId: string, threadId: string, action: CancelAction) => Promise<void>;

/** Makes runs out of requests, and starts those that may start here at once. */
export class RunCreateService {
  readonly #options: RunCreateOptions;
  readonly #makeWay: MakeWay;
  readonly #targets: Batcher<TargetQuery, Target>;
  readonly #inserts: Batcher<NewRun, InsertedRun>;
  /** Counts the batches: what waits is dealt to the processes that take runs, in turn. */
  #turn = 0;

  constructor(options: RunCreateOptions, makeWay: MakeWay) {
    this.#options = options;
    this.#makeWay = makeWay;
    const { database } = options;
    this.#targets = new Batcher<TargetQuery, Target>({
      name: "run_targets",
      lanes: 2,
      maxRows: 200,
      maxBytes: 1_000_000,
      flush: (rows) => findRunTargets(database, rows),
    });
    this.#inserts = new Batcher<NewRun, InsertedRun>({
      name: "run_inserts",
      lanes: 2,
      maxRows: 200,
      maxBytes: 4_000_000,
      bytesOf: (row) => row.kwargsJson.length + 500,
      flush: (rows) =>
        insertNewRuns(database, rows, options.processId, options.worker.leaseSeconds, this.#nextTurn()),
      // Another run of the thread began at the same moment: tried again, this one finds it there.
      mayPass: (error) => sqlState(error) === "23505",
    });
  }

  #nextTurn(): number {
    this.#turn = (this.#turn + 1) % 1_000_000;
    return this.#turn;
  }

  /** `threadId` null: a thread is made for this run alone. */
  async create(workspaceId: string, threadId: string | null, request: RunRequest): Promise<CreatedRun> {
    if (request.webhook) await this.#options.webhooks.check(request.webhook);
    requireTracing(this.#options, request);
    await this.#options.ensureDefaults(workspaceId);
    const assistantId = resolveRunAssistantId(this.#options.graphs, request.assistant_id);
    const target = await this.#targets.add({ workspaceId, threadId, assistantId });
    if (!target.assistant_id || !target.graph_id) throw assistantNotFound(request.assistant_id);
    // Fails here, with a sentence, when the graph is unknown or could not be loaded.
    this.#options.graphs.get(target.graph_id);
    await requireCheckpoint(this.#options, threadId, request);
    const createThread =
      threadId === null || (target.thread_id === null && request.if_not_exists === "create");
    if (!createThread && target.thread_id === null) throw threadNotFound(threadId!);
    const draft = this.#draft(workspaceId, threadId ?? newId(), target, request, createThread);
    await this.#permit(draft, request);
    if (request.multitask_strategy === "interrupt" || request.multitask_strategy === "rollback") {
      await this.#makeWay(workspaceId, draft.threadId, request.multitask_strategy);
    }
    return this.#insert(draft, request);
  }

  #draft(
    workspaceId: string,
    threadId: string,
    target: Target,
    request: RunRequest,
    createThread: boolean,
  ): RunDraft {
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
      kwargs: buildKwargs(target, request, ids),
      temporary: request.temporary,
      createThread,
      delaySeconds: request.after_seconds ?? 0,
      threadMetadata: createThread
        ? {
            ...request.metadata,
            ...request.threadMetadata,
            graph_id: ids.graph_id,
            assistant_id: ids.assistant_id,
          }
        : {},
      threadConfig: {},
      threadTtl: createThread && !request.temporary ? this.#options.defaultTtl : null,
      speaksProtocol: request.protocol === true,
    };
  }

  /** What the project's authorization adds to the run, and to the thread that is made with it, becomes part of them. */
  async #permit(draft: RunDraft, request: RunRequest): Promise<void> {
    const { guard, database } = this.#options;
    if (!guard || !request.caller?.principal) return;
    const { kwargs } = draft;
    const permit = await permitRun(guard, database, request.caller, {
      threadId: draft.threadId,
      createThread: draft.createThread,
      assistantId: draft.assistantId,
      metadata: request.metadata ?? {},
      multitaskStrategy: request.multitask_strategy,
      ifNotExists: request.if_not_exists,
      afterSeconds: request.after_seconds,
      kwargs: shownKwargs(kwargs),
    });
    draft.kwargs = withPermitted(kwargs, permit.kwargs);
    const { webhook } = draft.kwargs;
    if (webhook && webhook !== kwargs.webhook) await this.#options.webhooks.check(webhook);
    const ids = { graph_id: draft.graphId, assistant_id: draft.assistantId };
    draft.metadata = { ...draft.metadata, ...permit.metadata, ...ids };
    // Not what the caller claimed: the handlers may have changed it.
    if (draft.createThread)
      draft.threadMetadata = { ...permit.threadMetadata, ...request.threadMetadata, ...ids };
  }

  async #insert({ kwargs, ...draft }: RunDraft, request: RunRequest): Promise<CreatedRun> {
    const { worker } = this.#options;
    const kwargsJson = JSON.stringify(kwargs);
    const claim = draft.delaySeconds === 0 && worker.reserve();
    const run: NewRun = { ...draft, kwargsJson, claim };
    try {
      const inserted = await this.#insertRow(run);
      if (!inserted.status)
        throw inserted.thread_found ? threadBusy(run.threadId) : threadNotFound(run.threadId);
      // What a project's own code has put into them may be more than JSON, and every attempt must be given the same.
      const stored = request.caller?.principal ? (JSON.parse(kwargsJson) as RunKwargs) : kwargs;
      const row = toCreated(run, stored, inserted, request);
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
            begun: true,
            newThread: inserted.new_thread,
          }),
        };
      }
      // The others were notified with the row.
      if (inserted.status === "pending") worker.wake();
      return { run: row, afterSeq, protocolSeq, result: undefined };
    } finally {
      if (claim) worker.release();
    }
  }

  /** A thread that another process creates at the same moment exists, though the statement could not see it yet. */
  async #insertRow(run: NewRun): Promise<InsertedRun> {
    const inserted = await this.#inserts.add(run);
    return inserted.thread_found || !run.createThread ? inserted : this.#inserts.add(run);
  }
}

function toCreated(run: NewRun, kwargs: RunKwargs, inserted: InsertedRun, request: RunRequest): Run {
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
    kwargs,
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

function threadBusy(id: string): AppError {
  return new AppError({
    code: "run.thread_busy",
    kind: "conflict",
    message: `Thread ${id} is already running a task. Wait for it to finish or choose another multitask strategy.`,
  });
}
