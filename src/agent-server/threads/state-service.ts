import type { Database } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import { isUuid } from "../../platform/ids.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import { toWire } from "../checkpoints/message-wire.ts";
import type { SaverFactory } from "../checkpoints/saver-factory.ts";
import type { GraphRegistry } from "../graphs/graph-registry.ts";
import {
  bulkUpdateState,
  carriedChannels,
  graphAt,
  readThreadHistory,
  readThreadState,
  type StateAddress,
  type Superstep,
  updateThreadState,
} from "../graphs/graph-state.ts";
import type { AccessContext, CompiledGraph } from "../graphs/loaded-graph.ts";
import { threadNotFound } from "../runs/run-service.ts";
import type { ThreadRow } from "./thread.ts";
import {
  emptyThreadState,
  interruptsByTask,
  type ThreadState,
  toThreadState,
  toThreadStateJson,
} from "./thread-state.ts";
import { findThreadById, hasActiveRun, saveThreadState } from "./thread-store.ts";

export type HistoryQuery = {
  limit: number;
  before?: StateAddress;
  address?: StateAddress;
  filter?: Record<string, unknown>;
};

export type StateServiceOptions = { database: Database; graphs: GraphRegistry; savers: SaverFactory };

/** The checkpointed state of threads: read, look back, change. */
export class StateService {
  readonly #options: StateServiceOptions;
  readonly #changes = new KeyedLock();

  constructor(options: StateServiceOptions) {
    this.#options = options;
  }

  async get(
    workspaceId: string,
    threadId: string,
    options: { subgraphs?: boolean; address?: StateAddress } = {},
  ): Promise<ThreadState> {
    const thread = await this.#thread(workspaceId, threadId);
    const reader = await this.#reader(thread, "threads.read", options.address);
    if (!reader) return emptyThreadState;
    const snapshot = await readThreadState(reader, threadId, options);
    const wanted = options.address?.checkpoint_id;
    if (
      wanted &&
      snapshot.config.configurable?.checkpoint_id !== undefined &&
      snapshot.createdAt === undefined
    ) {
      throw checkpointNotFound(wanted, threadId);
    }
    return toThreadState(snapshot);
  }

  async history(workspaceId: string, threadId: string, query: HistoryQuery): Promise<ThreadState[]> {
    const thread = await this.#thread(workspaceId, threadId);
    const reader = await this.#reader(thread, "threads.read", query.address);
    if (!reader) return [];
    return (await readThreadHistory(reader, threadId, query)).map(toThreadState);
  }

  /** `history` as JSON text: most of it is stored as such, and a long one has megabytes of it. */
  async historyJson(
    workspaceId: string,
    threadId: string,
    query: HistoryQuery,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const thread = await this.#thread(workspaceId, threadId);
    const reader = await this.#reader(thread, "threads.read", query.address);
    if (!reader) return Buffer.from("[]");
    const saver = this.#options.savers.forTexts(reader.kit, carriedChannels(reader.graph));
    const states = await readThreadHistory({ ...reader, saver }, threadId, query);
    const pieces = states.flatMap((state, index) => [index === 0 ? "" : ",", ...toThreadStateJson(state)]);
    return Buffer.concat(
      ["[", ...pieces, "]"].map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)),
    );
  }

  async update(
    workspaceId: string,
    threadId: string,
    update: { values: unknown; asNode?: string; address?: StateAddress },
  ): Promise<{ checkpoint: Record<string, unknown> }> {
    // Two updates at once would both start from the same checkpoint and one would be lost. Not a row lock:
    // the checkpoint is written through other connections, and holding one while waiting for another can stall.
    return this.#changes.run(threadId, async () => {
      const thread = await this.#thread(workspaceId, threadId);
      if (await hasActiveRun(this.#options.database.sql, threadId)) throw threadBusy(threadId);
      const reader = await this.#reader(thread, "threads.update");
      if (!reader) throw threadWithoutGraph(threadId);
      const graph = await graphAt(reader.graph, update.address);
      const config = await changing(() => updateThreadState({ ...reader, graph }, threadId, update));
      await this.#save(thread, reader);
      const { checkpoint_id, checkpoint_ns } = config.configurable ?? {};
      return {
        checkpoint: {
          thread_id: threadId,
          checkpoint_id,
          checkpoint_ns: checkpoint_ns ?? "",
          checkpoint_map: null,
        },
      };
    });
  }

  /** Fills a new thread from steps taken elsewhere. */
  async fill(thread: ThreadRow, supersteps: readonly Superstep[]): Promise<void> {
    const reader = await this.#reader(thread, "threads.update");
    if (!reader) throw threadWithoutGraph(thread.thread_id);
    await changing(() => bulkUpdateState(reader, thread.thread_id, supersteps));
    await this.#save(thread, reader);
  }

  async #save(thread: ThreadRow, reader: Reader): Promise<void> {
    const state = await readThreadState(reader, thread.thread_id);
    await saveThreadState(this.#options.database.sql, thread.thread_id, {
      valuesJson: JSON.stringify(toWire(state.values ?? {})),
      interruptsJson: JSON.stringify(interruptsByTask(state)),
      status: state.next.length > 0 ? "interrupted" : "idle",
      metadata: { graph_id: thread.metadata.graph_id },
    });
  }

  async #thread(workspaceId: string, threadId: string): Promise<ThreadRow> {
    const thread = await findThreadById(this.#options.database, workspaceId, threadId);
    if (!thread) throw threadNotFound(threadId);
    return thread;
  }

  /** The graph that last ran on the thread; undefined when none ever did. */
  async #reader(
    thread: ThreadRow,
    access: AccessContext,
    address?: StateAddress,
  ): Promise<Reader | undefined> {
    const graphId = thread.metadata.graph_id;
    if (typeof graphId !== "string") return undefined;
    const loaded = this.#options.graphs.get(graphId);
    const graph = await loaded.resolve(
      { configurable: { thread_id: thread.thread_id, graph_id: graphId } },
      access,
    );
    const { savers } = this.#options;
    const saver = access === "threads.read" ? savers.forReading(loaded.kit) : savers.forKit(loaded.kit);
    return { graph: await graphAt(graph, address), kit: loaded.kit, saver };
  }
}

type Reader = {
  graph: CompiledGraph;
  kit: Parameters<SaverFactory["forKit"]>[0];
  saver: ReturnType<SaverFactory["forKit"]>;
};

/** What the graph library refuses about an update is the caller's to mend. */
async function changing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError({
      code: "thread.update_refused",
      kind: "invalid",
      message: `The state could not be changed: ${errorMessage(error)}`,
      cause: error,
    });
  }
}

export function addressOf(text: string): StateAddress {
  if (!isUuid(text)) throw checkpointNotFound(text);
  return { checkpoint_id: text };
}

function checkpointNotFound(id: string, threadId?: string): AppError {
  const place = threadId ? ` on thread ${threadId}` : "";
  return new AppError({
    code: "checkpoint.not_found",
    kind: "not_found",
    message: `Checkpoint ${id} not found${place}.`,
  });
}

function threadBusy(threadId: string): AppError {
  return new AppError({
    code: "thread.busy",
    kind: "conflict",
    message: `Thread ${threadId} is busy with a run; change its state when the run is over.`,
  });
}

function threadWithoutGraph(threadId: string): AppError {
  return new AppError({
    code: "thread.no_graph",
    kind: "invalid",
    message: `Thread ${threadId} has no graph yet. Run an assistant on it first, or create it with metadata.graph_id.`,
  });
}
