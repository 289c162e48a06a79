import { AppError } from "../../platform/errors.ts";
import { type JoinPoint, joinPointOf } from "../delivery/join-point.ts";
import type { CancelAction, ClaimedRun, Run, RunHead } from "./run.ts";
import { type CreatedRun, type RunCreateOptions, RunCreateService } from "./run-create-service.ts";
import type { RunResult } from "./run-end.ts";
import type { RunRequest } from "./run-request.ts";
import { RunResults } from "./run-results.ts";
import { type RunStopOptions, RunStopService, type StoppableRun } from "./run-stop-service.ts";
import { type ActiveRunFilter, findRunById, findRunHeadById } from "./run-store.ts";

export type RunServiceOptions = RunCreateOptions & RunStopOptions;

/** Use cases of runs: create with a multitask strategy, look for them, cancel, delete. */
export class RunService {
  readonly #database: RunServiceOptions["database"];
  readonly #creator: RunCreateService;
  readonly #stopper: RunStopService;
  readonly #results: RunResults;

  constructor(options: RunServiceOptions) {
    this.#database = options.database;
    const stopper = new RunStopService(options);
    this.#stopper = stopper;
    this.#results = new RunResults(options);
    this.#creator = new RunCreateService(options, (workspaceId, threadId, action) =>
      stopper.makeWay(workspaceId, threadId, action),
    );
  }

  /** `threadId` null: a thread is made for this run alone. */
  create(workspaceId: string, threadId: string | null, request: RunRequest): Promise<CreatedRun> {
    return this.#creator.create(workspaceId, threadId, request);
  }

  /** Asks a run to stop. A pending one ends at once; a running one when its graph has stopped. */
  cancel(run: StoppableRun, action: CancelAction): Promise<void> {
    return this.#stopper.cancel(run, action);
  }

  cancelMany(workspaceId: string, filter: ActiveRunFilter, action: CancelAction): Promise<number> {
    return this.#stopper.cancelMany(workspaceId, filter, action);
  }

  /** Ends everything on a thread, for example because the thread is about to go. */
  stopThread(workspaceId: string, threadId: string): Promise<void> {
    return this.#stopper.stopThread(workspaceId, threadId);
  }

  /** Called by the worker when a run was cancelled with `rollback`: as if it had never been. */
  rollback(run: ClaimedRun, end: RunResult): Promise<void> {
    return this.#stopper.rollback(run, end);
  }

  async remove(workspaceId: string, threadId: string, runId: string): Promise<void> {
    await this.#stopper.remove(await this.head(workspaceId, runId, threadId));
  }

  async find(workspaceId: string, runId: string): Promise<Run> {
    const run = await findRunById(this.#database, workspaceId, runId);
    if (!run) throw runNotFound(runId);
    return run;
  }

  /** What it takes to follow a run. */
  async head(workspaceId: string, runId: string, threadId?: string): Promise<RunHead> {
    const head = await findRunHeadById(this.#database, workspaceId, runId);
    if (!head || (threadId !== undefined && head.thread_id !== threadId)) throw runNotFound(runId);
    return head;
  }

  async get(workspaceId: string, threadId: string, runId: string): Promise<Run> {
    const run = await this.find(workspaceId, runId);
    if (run.thread_id !== threadId) throw runNotFound(runId);
    return run;
  }

  joinPoint(run: RunHead, lastEventId: string | undefined): Promise<JoinPoint> {
    return joinPointOf(this.#database, run, lastEventId);
  }

  statusOf(runId: string): Promise<"active" | "over"> {
    return this.#stopper.statusOf(runId);
  }

  /** Resolves when the run is over, in any process; rejects when the signal fires first. */
  waitForEnd(threadId: string, runId: string, signal: AbortSignal): Promise<void> {
    return this.#stopper.waitForEnd(threadId, runId, signal);
  }

  /** Final values as JSON text, once the run is over, in any process; rejects when the signal fires first. */
  waitForResult(run: Pick<Run, "run_id" | "thread_id">, signal: AbortSignal): Promise<string> {
    return this.#results.wait(run, signal);
  }
}

export function runNotFound(id: string): AppError {
  return new AppError({ code: "run.not_found", kind: "not_found", message: `Run with ID ${id} not found` });
}
