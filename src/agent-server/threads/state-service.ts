import type { Database } from "../../platform/db/database.ts";
import { AppError, errorMessage } from "../../platform/errors.ts";
import { isUuid } from "../../platform/ids.ts";
import { KeyedLock } from "../../platform/keyed-lock.ts";
import type { OwnThread, StoredCheckpoint } from "../checkpoints/checkpoint.ts";
import type { CheckpointStore } from "../checkpoints/checkpoint-store.ts";
import { toWire } from "../checkpoints/message-wire.ts";
import type { RunnableGraphs } from "../graphs/graph-registry.ts";
import type { AccessContext, HistoryQuery, OpenedGraph, StateUpdate } from "../graphs/graph-runtime.ts";
import {
  interruptsByTask,
  type StateAddress,
  type StateSnapshot,
  type Superstep,
} from "../graphs/state-snapshot.ts";
import { StateTexts } from "./state-texts.ts";
import type { ThreadRow } from "./thread.ts";
import { threadNotFound } from "./thread.ts";
import { ThreadGraphs } from "./thread-graphs.ts";
import {
  emptyThreadState,
  type StatePart,
  type ThreadState,
  toThreadState,
  toThreadStateJson,
} from "./thread-state.ts";
import { findLastConfig, findThreadById, hasActiveRun, saveThreadState } from "./thread-store.ts";

export type StateServiceOptions = {
  database: Database;
  graphs: RunnableGraphs;
  checkpoints: CheckpointStore;
};

/** The checkpointed state of threads: read, look back, change. */
export class StateService {
  readonly #options: StateServiceOptions;
  readonly #changes = new KeyedLock();
  readonly #texts = new StateTexts();

  constructor(options: StateServiceOptions) {
    this.#options = options;
  }

  async get(
    workspaceId: string,
    threadId: string,
    options: { subgraphs?: boolean; address?: StateAddress } = {},
  ): Promise<ThreadState> {
    const found = await this.#find(workspaceId, threadId, options.address);
    if (!found) return emptyThreadState;
    const { graph, stored } = found;
    return toThreadState(await graph.state(threadId, { ...options, stored }));
  }

  /** `get` as JSON text. */
  async getJson(
    workspaceId: string,
    threadId: string,
    options: { subgraphs?: boolean; address?: StateAddress } = {},
  ): Promise<string | Uint8Array<ArrayBuffer>> {
    const found = await this.#find(workspaceId, threadId, options.address);
    if (!found) return JSON.stringify(emptyThreadState);
    const { graph, stored } = found;
    const compute = async () => [await graph.state(threadId, { ...options, stored, asText: true })];
    // Writes that no step has taken up count in the latest state, but not in that of their checkpoint.
    if (!stored || stored.writes.length > 0 || options.subgraphs || options.address?.checkpoint_map)
      return joined((await compute()).flatMap(toThreadStateJson));
    const kind = options.address?.checkpoint_id ? "state at" : "state";
    const texts = await this.#texts.of({ graph, kind, read: [[stored]] }, compute);
    return joined(texts.get(stored)!);
  }

  /** Undefined for a thread that never ran. */
  async #find(
    workspaceId: string,
    threadId: string,
    address: StateAddress | undefined,
  ): Promise<{ graph: OpenedGraph; stored: StoredCheckpoint | undefined } | undefined> {
    const own = await this.#options.checkpoints.getOwn({ workspaceId, ...placeAt(threadId, address) });
    if (!own) throw threadNotFound(threadId);
    const graphs = this.#graphs(own.thread, "threads.read", address);
    if (!graphs) return undefined;
    const stored = own.checkpoint;
    if (!stored && address?.checkpoint_id) throw checkpointNotFound(address.checkpoint_id, threadId);
    return { graph: await (stored ? graphs.of(stored) : graphs.last()), stored };
  }

  async history(workspaceId: string, threadId: string, query: HistoryQuery): Promise<ThreadState[]> {
    const { pages, byGraph } = await this.#list(workspaceId, threadId, query);
    const computed = new Map<StoredCheckpoint, StateSnapshot>();
    for (const [graph, read] of byGraph) {
      const snapshots = await graph.history(threadId, { ...query, read, asText: false });
      for (const [index, stored] of read.flat().entries()) computed.set(stored, snapshots[index]!);
    }
    return pages.flat().map((stored) => toThreadState(computed.get(stored)!));
  }

  /** `history` as JSON text: most of it is stored as such, and a long one has megabytes of it. */
  async historyJson(
    workspaceId: string,
    threadId: string,
    query: HistoryQuery,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const { pages, byGraph } = await this.#list(workspaceId, threadId, query);
    const parts = new Map<StoredCheckpoint, readonly StatePart[]>();
    for (const [graph, read] of byGraph) {
      const compute = (missing: typeof read) =>
        graph.history(threadId, { ...query, read: missing, asText: true });
      const kind = query.address?.checkpoint_map ? undefined : "history";
      for (const [stored, text] of await this.#texts.of({ graph, kind, read }, compute))
        parts.set(stored, text);
    }
    const states = pages.flat().flatMap((stored, index) => [index === 0 ? "" : ",", ...parts.get(stored)!]);
    return joined(["[", ...states, "]"]);
  }

  /** Newest first. Read in one go, to be computed by each graph for the checkpoints it wrote. */
  async #list(
    workspaceId: string,
    threadId: string,
    query: HistoryQuery,
  ): Promise<{
    pages: readonly StoredCheckpoint[][];
    byGraph: ReadonlyMap<OpenedGraph, readonly StoredCheckpoint[][]>;
  }> {
    const { limit, filter, address } = query;
    const before = query.before?.checkpoint_id || undefined;
    const place = { workspaceId, ...placeAt(threadId, address) };
    const own = await this.#options.checkpoints.listOwn({ ...place, before, limit, filter });
    if (!own) throw threadNotFound(threadId);
    const { thread, pages } = own;
    const graphs = this.#graphs(thread, "threads.read", address);
    return graphs ? { pages, byGraph: await pagesByGraph(pages, graphs) } : { pages: [], byGraph: new Map() };
  }

  async update(
    workspaceId: string,
    threadId: string,
    update: StateUpdate,
  ): Promise<{ checkpoint: Record<string, unknown> }> {
    // Two updates at once would both start from the same checkpoint and one would be lost. Not a row lock:
    // the checkpoint is written through other connections, and holding one while waiting for another can stall.
    return this.#changes.run(threadId, async () => {
      const thread = await this.#thread(workspaceId, threadId);
      if (await hasActiveRun(this.#options.database.sql, threadId)) throw threadBusy(threadId);
      const writer = await this.#writer(thread, update.address);
      const config = await changing(() => writer.update(threadId, update));
      await this.#save(thread, writer);
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
    const writer = await this.#writer(thread);
    await changing(() => writer.fill(thread.thread_id, supersteps));
    await this.#save(thread, writer);
  }

  async #save(thread: ThreadRow, writer: OpenedGraph): Promise<void> {
    const state = await writer.state(thread.thread_id);
    await saveThreadState(this.#options.database.sql, thread.thread_id, {
      valuesJson: JSON.stringify(toWire(state.values ?? {})),
      interruptsJson: JSON.stringify(interruptsByTask(state)),
      status: state.next.length > 0 ? "interrupted" : "idle",
      metadata: { graph_id: writer.graphId },
    });
  }

  async #thread(workspaceId: string, threadId: string): Promise<ThreadRow> {
    const thread = await findThreadById(this.#options.database, workspaceId, threadId);
    if (!thread) throw threadNotFound(threadId);
    return thread;
  }

  /** Undefined when no graph ever ran on the thread. */
  #graphs(thread: OwnThread, access: AccessContext, address?: StateAddress): ThreadGraphs | undefined {
    const { threadId, graphId: lastGraphId } = thread;
    if (lastGraphId === undefined) return undefined;
    const { graphs, database } = this.#options;
    const configOf = (graphId: string) => findLastConfig(database.sql, threadId, graphId);
    const writes = access === "threads.update";
    return new ThreadGraphs({ graphs, threadId, lastGraphId, access, writes, address, configOf });
  }

  /** A change at an older checkpoint is made by the graph that wrote it, any other by the last graph. */
  async #writer(thread: ThreadRow, address?: StateAddress): Promise<OpenedGraph> {
    const { thread_id: threadId, metadata } = thread;
    const graphId = typeof metadata.graph_id === "string" ? metadata.graph_id : undefined;
    const graphs = this.#graphs({ threadId, graphId }, "threads.update");
    if (!graphs) throw threadWithoutGraph(thread.thread_id);
    const stored = address?.checkpoint_id
      ? await this.#options.checkpoints.get(placeAt(thread.thread_id, address))
      : undefined;
    return stored ? graphs.of(stored) : graphs.last();
  }
}

function joined(parts: readonly StatePart[]): Uint8Array<ArrayBuffer> {
  return Buffer.concat(
    parts.flatMap((part) => (typeof part === "string" ? Buffer.from(part) : part.text.pieces)),
  );
}

function placeAt(threadId: string, address: StateAddress = {}) {
  const { checkpoint_ns, checkpoint_id } = address;
  return { threadId, checkpointNs: checkpoint_ns ?? "", checkpointId: checkpoint_id || undefined };
}

/** In pages as before: the checkpoints of one share values, which are then read once. */
async function pagesByGraph(
  pages: readonly StoredCheckpoint[][],
  graphs: ThreadGraphs,
): Promise<Map<OpenedGraph, StoredCheckpoint[][]>> {
  const byGraph = new Map<OpenedGraph, StoredCheckpoint[][]>();
  for (const [index, page] of pages.entries()) {
    for (const stored of page) {
      const graph = await graphs.of(stored);
      const own = byGraph.get(graph) ?? pages.map(() => []);
      own[index]!.push(stored);
      byGraph.set(graph, own);
    }
  }
  return byGraph;
}

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
    message: `Thread ${threadId} is busy with a run; change its state when the run has ended.`,
  });
}

function threadWithoutGraph(threadId: string): AppError {
  return new AppError({
    code: "thread.no_graph",
    kind: "invalid",
    message: `Thread ${threadId} has no graph yet. Run an assistant on it first, or create it with metadata.graph_id.`,
  });
}
