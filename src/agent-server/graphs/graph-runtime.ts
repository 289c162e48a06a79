import type { StoredCheckpoint } from "../checkpoints/checkpoint.ts";
import type { CheckpointStore } from "../checkpoints/checkpoint-store.ts";
import type { ItemService } from "../store/item-service.ts";
import type { GraphCall } from "./graph-call.ts";
import type { DrawnGraph, GraphSchemas } from "./graph-description.ts";
import type { ResumedAttempt } from "./resumed-attempt.ts";
import type { StateAddress, StateSnapshot, Superstep } from "./state-snapshot.ts";

/*
 * Everything the server asks of a graph, in any language. The rest of the server uses graphs through these types alone.
 * Implementations: graphs/javascript runs those of this process.
 */

/** Where a graph comes from. */
export type GraphSource = {
  graphId: string;
  description: string | undefined;
  /** Absolute path of the source file; undefined for built-in graphs. */
  file: string | undefined;
  exportName: string;
};

/** A graph that was loaded, before it knows where a server keeps things. */
export type ServedGraph = GraphSource & {
  /** It is created for each use, from the config of the request. */
  isFactory: boolean;
  /** Its schemas as the graph itself has them, without the types of its source. */
  schemas(): Promise<GraphSchemas>;
  bind(ground: RuntimeGround): RunnableGraph;
};

/** What a server gives to its graphs. Queue, leases, fences and events stay with the server. */
export type RuntimeGround = {
  checkpoints: CheckpointStore;
  /** The long-term store. */
  items: ItemService;
  /** Where the steps of runs are traced; undefined leaves that to the graph library. */
  trace?: ((place: TracePlace, span: TracedSpan) => void) | undefined;
  /** Whether the graph library itself traces runs, as its environment configures. */
  libraryTraces: boolean;
};

export type TracePlace = { workspaceId: string; project: string };

/** A finished step, by the names of the tracing wire. */
export type TracedSpan = Record<string, unknown> & { id: string };

export type GraphConfig = { configurable?: Record<string, unknown>; [key: string]: unknown };

/** Why a graph is being made; a factory may return another graph for reading than for running. */
export const accessContexts = [
  "threads.create_run",
  "threads.read",
  "threads.update",
  "assistants.read",
] as const;
export type AccessContext = (typeof accessContexts)[number];

export type RunnableGraph = Omit<ServedGraph, "bind"> & {
  /** `xray` also opens its subgraphs, all of them or that many levels. */
  draw(config: GraphConfig, xray: boolean | number): Promise<DrawnGraph>;
  /** The schemas of its subgraphs by namespace (`node`, or `node|inner` when recursing). */
  subgraphs(
    config: GraphConfig,
    options: { namespace?: string; recurse?: boolean },
  ): Promise<Record<string, GraphSchemas>>;
  /** The graph for reading threads, or for changing their state. */
  open(options: OpenOptions): Promise<OpenedGraph>;
  /** Begins an attempt of a run. What it waits for is the graph's making; the graph runs as its parts are taken. */
  start(attempt: GraphAttempt): Promise<GraphExecution>;
};

export type OpenOptions = {
  config: GraphConfig;
  access: AccessContext;
  /** Within the graph: its subgraph, where the address names one. */
  address?: StateAddress | undefined;
  /** For changes. Otherwise values are read as wire JSON, which is several times as fast and good for nothing else. */
  writes?: boolean;
};

/** A graph that reads and changes the state of threads. */
export type OpenedGraph = {
  graphId: string;
  /** One checkpoint gives the same state whenever it is computed, and for everybody. */
  isRepeatable: boolean;
  /** `stored`: the checkpoint, if it was read already. */
  state(threadId: string, options?: StateOptions): Promise<StateSnapshot>;
  /** Of the checkpoints in `read`, in their order. `asText`: values that are stored as JSON text stay text. */
  history(threadId: string, query: HistoryRead): Promise<StateSnapshot[]>;
  /** Writes values as if the node had returned them; answers the config of the new checkpoint. */
  update(threadId: string, update: StateUpdate): Promise<{ configurable?: Record<string, unknown> }>;
  /** Builds a thread's state step by step, as a copy of a thread elsewhere does. */
  fill(threadId: string, supersteps: readonly Superstep[]): Promise<void>;
};

export type StateOptions = {
  subgraphs?: boolean;
  address?: StateAddress;
  stored?: StoredCheckpoint | undefined;
  /** Values of it that are stored as JSON text may stay text. */
  asText?: boolean;
};

export type HistoryQuery = {
  limit: number;
  before?: StateAddress;
  address?: StateAddress;
  filter?: Record<string, unknown>;
};

export type HistoryRead = HistoryQuery & { read: readonly StoredCheckpoint[][]; asText: boolean };

export type StateUpdate = { values: unknown; asNode?: string; address?: StateAddress };

/** One attempt of a run, as far as its graph is concerned. */
export type GraphAttempt = {
  run: {
    run_id: string;
    thread_id: string;
    workspace_id: string;
    attempt: number;
    metadata: Record<string, unknown>;
    /** The thread was made with the run: it has no checkpoint to look for. */
    newThread?: boolean;
  };
  call: GraphCall;
  /** What its checkpoints and its trace carry, beside what is in the call's `configurable`. */
  metadata: Record<string, unknown>;
  /** Where it is traced, instead of the project of its graph, and whether links for feedback on it will be asked for. */
  tracing: {
    project?: string | undefined;
    example?: string | undefined;
    offersFeedback: boolean;
    /** An earlier attempt began the run: this one continues the same trace. */
    resumed?: ResumedAttempt | undefined;
    /** The attempt was stopped and another one continues: the attempt ends now, the run does not. */
    isHandedBack(): boolean;
  };
  /** Clients of the streaming protocol listen: everything is streamed, at every level. */
  protocol: boolean;
  signal: AbortSignal;
  /** Throws when the run is not ours any more; asked before every step. */
  requireHeld(): void;
  /** A checkpoint could not be written: the run must stop. The graph does not see the error. */
  onWriteFailed(error: unknown): void;
};

export type GraphExecution = {
  /** What the graph yields, in order; taken once. */
  parts(): AsyncIterable<GraphPart>;
  /** The thread's state as this attempt left it so far. */
  state(): Promise<StateSnapshot>;
  /** Resolves when none of its checkpoints is on its way, whether they were written or refused. */
  settled(): Promise<void>;
  /** The first checkpoint that could not be written. */
  readonly failure: { error: unknown } | undefined;
  /** What the graph's author attached to it to stream more than the graph itself does. */
  readonly transformers: readonly unknown[];
  /** Resolves when what was traced so far is with the tracing service, or after a few seconds. */
  tracesSent(): Promise<void>;
};

/** One thing a graph yields. */
export type GraphPart = {
  /** For the run's own stream, as it goes out: `data` is JSON text. */
  events: readonly { name: string; namespace: string; data: string }[];
  /** It invites an answer, which can be taken only when the run has ended. */
  invites: boolean;
  /** For the streaming protocol: the same, not yet in its words. */
  chunk: GraphChunk;
};

/** Modes of the graph library. `values` is always on: it carries the final state. */
export type GraphMode =
  | "values"
  | "updates"
  | "messages"
  | "custom"
  | "tasks"
  | "checkpoints"
  | "debug"
  | "tools";

export type GraphChunk =
  | { kind: "chunk"; namespace: readonly string[]; mode: GraphMode; payload: unknown }
  /** A callback event, only with the stream mode `events`. */
  | { kind: "event"; event: unknown };
