import { END, START } from "@langchain/langgraph";
import { AppError, errorMessage } from "../platform/errors.ts";
import { newId } from "../platform/ids.ts";
import type { Logger } from "../platform/logger.ts";
import type { Assistant, ChatGraph, GraphConfig } from "./assistant.ts";
import { ChatCheckpointer } from "./checkpointer.ts";
import { EventLog, type EventLogLimits } from "./event-log.ts";
import { ThreadRuns } from "./thread-runs.ts";
import { summarize, type ThreadState, type ThreadSummary, toThreadState } from "./thread-state.ts";

export type ChatLimits = EventLogLimits & {
  /** Per workspace. The thread that was used longest ago makes room for a new one. */
  maxThreads: number;
  /** Of the checkpoints of one thread; a full one takes no more runs. */
  maxThreadBytes: number;
};

export type ThreadBookOptions = { assistants: readonly Assistant[]; limits: ChatLimits; logger: Logger };

/** What is kept for a thread while it is in use. The thread itself consists only of its checkpoints. */
export type Session = { log: EventLog; runs: ThreadRuns; assistantId: string };

/**
 * The threads of one workspace. The checkpointer is the single source of truth: a thread exists exactly when it has a
 * checkpoint, and its title, status and history are read from there. It keeps everything in memory, so a restart clears
 * all threads; swap the one line that makes it for a durable saver and they stay.
 */
export class ThreadBook {
  readonly #checkpointer = new ChatCheckpointer();
  readonly #graphs: ReadonlyMap<string, ChatGraph>;
  readonly #options: ThreadBookOptions;
  /** In the order of use, the latest last. */
  readonly #sessions = new Map<string, Session>();

  constructor(options: ThreadBookOptions) {
    this.#options = options;
    this.#graphs = new Map(
      options.assistants.map((one) => [one.assistant_id, one.withCheckpointer(this.#checkpointer)]),
    );
  }

  /** The assistant for a client that names none. */
  get defaultAssistantId(): string {
    return this.#options.assistants[0]!.assistant_id;
  }

  has(threadId: string): boolean {
    return this.#checkpointer.count(threadId) > 0;
  }

  assistant(id: string): { assistant: Assistant; graph: ChatGraph } | undefined {
    const assistant = this.#options.assistants.find((one) => one.assistant_id === id);
    return assistant && { assistant, graph: this.#graphs.get(id)! };
  }

  /** The thread's session, made when needed, and counted as used now. */
  session(threadId: string): Session {
    const session = this.#sessions.get(threadId) ?? this.#newSession();
    this.#sessions.delete(threadId);
    this.#sessions.set(threadId, session);
    return session;
  }

  /** False when the thread has no such run active or waiting. */
  cancel(threadId: string, runId: string): boolean {
    return this.#sessions.get(threadId)?.runs.cancel(runId) ?? false;
  }

  /** For listeners that leave: a session around no thread is not worth keeping. */
  forgetUnused(threadId: string): void {
    const session = this.#sessions.get(threadId);
    if (session && !this.has(threadId) && session.runs.activeRunId === null) this.#sessions.delete(threadId);
  }

  async list(): Promise<ThreadSummary[]> {
    const ids = this.#checkpointer.threadIds();
    const summaries = await Promise.all(ids.map((id) => this.#summary(id)));
    return summaries.sort((a, b) => (b.updated_at ?? "").localeCompare(a.updated_at ?? ""));
  }

  async state(threadId: string): Promise<ThreadState> {
    this.#mustExist(threadId);
    return this.#stateAt(configOf(threadId));
  }

  async history(
    threadId: string,
    page: { limit: number; before?: string; namespace?: string },
  ): Promise<ThreadState[]> {
    this.#mustExist(threadId);
    const { limit, before, namespace } = page;
    const options = { limit, ...(before ? { before: configOf(threadId, { checkpointId: before }) } : {}) };
    const states: ThreadState[] = [];
    for await (const { config } of this.#checkpointer.list(configOf(threadId, { namespace }), options)) {
      states.push(await this.#stateAt({ configurable: { ...config.configurable } }));
    }
    return states;
  }

  /** Makes the thread if it is new, else writes into its state as if a node had returned the values. */
  async update(
    threadId: string,
    change: { values: Record<string, unknown> | null; asNode?: string; checkpointId?: string },
  ): Promise<ThreadState> {
    if (this.#sessions.get(threadId)?.runs.activeRunId) throw busy(threadId);
    if (change.checkpointId !== undefined) return this.#goBack(threadId, change.checkpointId);
    const isNew = !this.has(threadId);
    if (isNew) await this.makeRoom();
    this.session(threadId);
    const config = configOf(threadId);
    const graph = this.#graph(await this.#assistantAt(config));
    try {
      await graph.updateState(config, change.values ?? {}, change.asNode ?? (isNew ? START : undefined));
      // The start node leads on to the first one; no run was requested, so no task may be left.
      if (isNew && change.asNode === undefined) await graph.updateState(config, null, END);
    } catch (error) {
      throw cannotUpdate(threadId, error);
    }
    return this.state(threadId);
  }

  /**
   * Branches: the thread continues from an earlier checkpoint, and what came after it stays in the history. Its events
   * belong to the branch that was left, so they are no longer replayed.
   */
  async #goBack(threadId: string, checkpointId: string): Promise<ThreadState> {
    this.#mustHaveCheckpoint(threadId, checkpointId);
    const session = this.session(threadId);
    session.assistantId = await this.#assistantAt(configOf(threadId, { checkpointId }));
    await this.#graph(session.assistantId).updateState(
      configOf(threadId, { checkpointId }),
      null,
      "__copy__",
    );
    session.log.clear();
    return this.state(threadId);
  }

  /** Waits for the thread's run to end first: its last checkpoint would bring the thread back. */
  async remove(threadId: string): Promise<void> {
    this.#mustExist(threadId);
    const session = this.session(threadId);
    session.runs.cancelAll();
    await session.runs.settled();
    await this.#checkpointer.deleteThread(threadId);
    session.log.close();
    this.#sessions.delete(threadId);
  }

  /** Before a new thread: removes the one that was used longest ago. */
  async makeRoom(): Promise<void> {
    const { limits, logger } = this.#options;
    const ids = this.#checkpointer.threadIds();
    if (ids.length < limits.maxThreads) return;
    const order = [...this.#sessions.keys()];
    const idle = ids.filter((id) => (this.#sessions.get(id)?.runs.activeRunId ?? null) === null);
    const oldest = idle.sort((a, b) => order.indexOf(a) - order.indexOf(b))[0];
    if (oldest === undefined) throw full(limits.maxThreads);
    logger.info(
      { thread_id: oldest, max_threads: limits.maxThreads },
      "a chat thread was dropped to make room",
    );
    await this.remove(oldest);
  }

  isFull(threadId: string): boolean {
    return this.#checkpointer.bytes(threadId) >= this.#options.limits.maxThreadBytes;
  }

  hasCheckpoint(threadId: string, checkpointId: string): boolean {
    return this.#checkpointer.has(threadId, checkpointId);
  }

  async stop(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    for (const { runs } of sessions) runs.cancelAll();
    await Promise.all(sessions.map(({ runs }) => runs.settled()));
    for (const { log } of sessions) log.close();
  }

  async #summary(threadId: string): Promise<ThreadSummary> {
    const config = configOf(threadId);
    const activeRunId = this.#sessions.get(threadId)?.runs.activeRunId ?? null;
    const [state, assistantId] = await Promise.all([this.#stateAt(config), this.#assistantAt(config)]);
    return summarize(state, { threadId, assistantId, activeRunId });
  }

  #newSession(): Session {
    // Around runs that failed before their first step there is a session but no thread.
    if (this.#sessions.size >= 2 * this.#options.limits.maxThreads) {
      for (const id of this.#sessions.keys()) this.forgetUnused(id);
    }
    const log = new EventLog(this.#options.limits, newId().slice(-12));
    const runs = new ThreadRuns(log, this.#options.logger);
    return { log, runs, assistantId: this.defaultAssistantId };
  }

  /** Read by the graph that wrote it: only that one knows the nodes the checkpoint names. */
  async #stateAt(config: GraphConfig): Promise<ThreadState> {
    const graph = this.#graph(await this.#assistantAt(config));
    return toThreadState(await graph.getState(config));
  }

  async #assistantAt(config: GraphConfig): Promise<string> {
    const tuple = await this.#checkpointer.getTuple(config);
    const written = (tuple?.metadata as { assistant_id?: string } | undefined)?.assistant_id;
    const session = this.#sessions.get(String(config.configurable.thread_id));
    return written ?? session?.assistantId ?? this.defaultAssistantId;
  }

  #graph(assistantId: string): ChatGraph {
    return this.#graphs.get(assistantId) ?? this.#graphs.values().next().value!;
  }

  #mustExist(threadId: string): void {
    if (!this.has(threadId)) throw noThread(threadId);
  }

  #mustHaveCheckpoint(threadId: string, checkpointId: string): void {
    if (!this.hasCheckpoint(threadId, checkpointId)) throw noCheckpoint(threadId, checkpointId);
  }
}

function configOf(threadId: string, at: { checkpointId?: string; namespace?: string } = {}): GraphConfig {
  const { checkpointId, namespace = "" } = at;
  return {
    configurable: {
      thread_id: threadId,
      checkpoint_ns: namespace,
      ...(checkpointId === undefined ? {} : { checkpoint_id: checkpointId }),
    },
  };
}

function noThread(threadId: string): AppError {
  return new AppError({
    code: "chat.no_such_thread",
    kind: "not_found",
    message: `There is no thread ${threadId}. Threads of this application are in memory and lost after a restart. POST its state, or start a run, to create it.`,
  });
}

function noCheckpoint(threadId: string, checkpointId: string): AppError {
  return new AppError({
    code: "chat.no_such_checkpoint",
    kind: "not_found",
    message: `The thread ${threadId} has no checkpoint ${checkpointId}. POST …/history lists them.`,
  });
}

function busy(threadId: string): AppError {
  return new AppError({
    code: "chat.thread_busy",
    kind: "conflict",
    message: `A run is in progress in the thread ${threadId}. Wait for it, or cancel it first.`,
  });
}

function full(maxThreads: number): AppError {
  return new AppError({
    code: "chat.too_many_threads",
    kind: "unavailable",
    message: `All ${maxThreads} threads have a run in progress. Wait for one to end, or delete a thread.`,
  });
}

function cannotUpdate(threadId: string, error: unknown): AppError {
  return new AppError({
    code: "chat.state_refused",
    kind: "invalid",
    message: `The graph does not accept these values for the thread ${threadId}: ${errorMessage(error)}`,
    cause: error,
  });
}
