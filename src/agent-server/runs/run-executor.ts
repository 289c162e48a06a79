import type { Logger } from "../../platform/logger.ts";
import { toWire } from "../checkpoints/message-wire.ts";
import type { SaverFactory } from "../checkpoints/saver-factory.ts";
import type { GraphRegistry } from "../graphs/graph-registry.ts";
import { readThreadState, type StateReader } from "../graphs/graph-state.ts";
import type { CompiledGraph, LoadedGraph } from "../graphs/loaded-graph.ts";
import { type ProtocolRow, toProtocolRow } from "../protocol/protocol-event.ts";
import { ProtocolEventMapper } from "../protocol/protocol-events.ts";
import { lifecycleOf, speaksProtocol, terminalRow } from "../protocol/terminal-event.ts";
import type { StoreFactory } from "../store/graph-store.ts";
import { CheckpointWrites } from "../streaming/checkpoint-writes.ts";
import type { EventLog } from "../streaming/event-log.ts";
import { forStreamModes, type GraphRun, streamGraph } from "../streaming/graph-stream.ts";
import { RunEventMapper } from "../streaming/run-events.ts";
import { RunTracer, type SpanSink } from "../streaming/run-tracer.ts";
import type { ThreadFeed } from "../streaming/thread-feed.ts";
import { interruptsByTask } from "../threads/thread-state.ts";
import { type ClaimedRun, describeRunError, type RunKwargs, type RunOutcome } from "./run.ts";
import { RunWriter } from "./run-writer.ts";

/** Why a running graph was told to stop. */
export type StopReason = "interrupt" | "rollback" | "timeout" | "shutdown" | "lease_lost";

export type RunResult = {
  outcome: RunOutcome;
  /** JSON text of the last values, with `__interrupt__` when the run stopped at one. */
  resultJson: string;
  /** What clients of the streaming protocol hear last, numbered just before `lastSeq`; null where there are none. */
  terminal: ProtocolRow | null;
  lastSeq: number;
};

export type TracePlace = { workspaceId: string; project: string };
export type TracedSpan = Parameters<SpanSink>[0];

export type RunExecutorOptions = {
  graphs: GraphRegistry;
  savers: SaverFactory;
  stores: StoreFactory;
  events: EventLog;
  feed: ThreadFeed;
  logger: Logger;
  /** Where the steps of a run are traced; undefined traces nothing. */
  trace?: ((place: TracePlace, span: TracedSpan) => void) | undefined;
  /** What the checkpoints and the trace of every run tell about the server. */
  serverMetadata: Record<string, unknown>;
};

const interruptKey = "__interrupt__";

/** Runs one claimed run to its end. Knows graphs and events, but neither leases nor queues. */
export class RunExecutor {
  readonly #options: RunExecutorOptions;

  constructor(options: RunExecutorOptions) {
    this.#options = options;
  }

  /** Resolves with how it ended; rejects only when the lease was lost or the database is gone. */
  async execute(run: ClaimedRun, stop: AbortController): Promise<RunResult> {
    const writer = new RunWriter(run, this.#options.events, () =>
      stop.abort("lease_lost" satisfies StopReason),
    );
    this.#options.feed.open(run.thread_id, run.last_seq);
    const protocol = speaksProtocol(run) ? new ProtocolEventMapper(run.graph_id, Date.now) : undefined;
    const progress: Progress = { values: undefined, valuesJson: null, interrupted: false, protocol };
    let outcome: RunOutcome;
    try {
      outcome = await this.#runGraph(run, writer, stop.signal, progress);
    } catch (error) {
      outcome = await this.#failed(run, writer, stop.signal, progress, error);
    }
    const lastEvents = await protocol?.finish(lifecycleOf(outcome.status), {
      error: outcome.error?.message,
      onTransformerFailure: (error) =>
        this.#options.logger.warn({ runId: run.run_id, err: error }, "a stream transformer failed"),
    });
    for (const event of lastEvents ?? []) writer.writeRow("protocol", toProtocolRow(event));
    await writer.settled();
    const terminal = protocol ? terminalRow(run, outcome, Date.now()) : null;
    if (terminal) writer.nextSeq();
    return {
      outcome,
      terminal,
      resultJson: outcome.error
        ? JSON.stringify({ __error__: outcome.error })
        : (progress.resultJson ?? progress.valuesJson ?? "{}"),
      lastSeq: writer.nextSeq(),
    };
  }

  async #runGraph(
    run: ClaimedRun,
    writer: RunWriter,
    signal: AbortSignal,
    progress: Progress,
  ): Promise<RunOutcome> {
    writer.write("run", "metadata", "", JSON.stringify({ run_id: run.run_id, attempt: run.attempt }));
    const { protocol } = progress;
    if (protocol) writer.writeRow("protocol", toProtocolRow(protocol.start()));
    const loaded = this.#options.graphs.get(run.graph_id);
    const graphRun = await this.#prepare(run, loaded, signal, progress);
    progress.graphRun = graphRun;
    protocol?.attach((graphRun.graph.streamTransformers ?? []) as never);
    if (run.attempt > 1) await this.#snapshot(run, graphRun, writer, progress);
    const mapper = new RunEventMapper(run.kwargs.stream_mode);
    for await (const chunk of streamGraph(graphRun)) {
      if (chunk.kind === "chunk" && chunk.mode === "values" && chunk.namespace.length === 0) {
        progress.values = chunk.payload;
        progress.interrupted ||= hasInterrupt(chunk.payload);
      }
      const asked = forStreamModes(chunk, run.kwargs);
      for (const event of asked ? mapper.map(asked) : [])
        writer.write("run", event.name, event.namespace, JSON.stringify(event.data));
      for (const event of protocol?.map(chunk) ?? []) writer.writeRow("protocol", toProtocolRow(event));
      await writer.room();
    }
    signal.throwIfAborted();
    return this.#succeeded(run, graphRun, progress);
  }

  async #prepare(
    run: ClaimedRun,
    loaded: LoadedGraph,
    signal: AbortSignal,
    progress: Progress,
  ): Promise<GraphRun> {
    const { kit } = loaded;
    const graph: CompiledGraph = await loaded.resolve(
      run.kwargs.config,
      "threads.create_run",
      run.kwargs.context,
    );
    // Not in the config: the graph library would carry them along and copy them at every step.
    const { serverMetadata } = this.#options;
    const told = { ...run.metadata, ...serverMetadata, run_attempt: run.attempt };
    const saver = this.#options.savers.forRun(kit, run, { ...run.kwargs.config.configurable, ...told });
    progress.writes = new CheckpointWrites(saver);
    const kwargs = await addressAnswer(run.kwargs, { graph, saver }, run.thread_id);
    return {
      graph,
      kit,
      kwargs,
      runId: run.run_id,
      metadata: run.metadata,
      saver,
      store: this.#options.stores.forWorkspace(kit, run.workspace_id),
      signal,
      tracer: this.#tracer(run, told),
      protocol: speaksProtocol(run),
      resume: run.attempt > 1 && (await this.#options.savers.hasCheckpointOf(run.thread_id, run.run_id)),
    };
  }

  #tracer(run: ClaimedRun, metadata: Record<string, unknown>): RunTracer | undefined {
    const { trace } = this.#options;
    if (!trace) return undefined;
    const place = { workspaceId: run.workspace_id, project: run.graph_id };
    const root = { id: run.run_id, name: run.graph_id, metadata };
    return new RunTracer(root, (span) => trace(place, span));
  }

  /** After a retry the log holds what the dead attempt said; a snapshot lets clients correct themselves. */
  async #snapshot(run: ClaimedRun, graphRun: GraphRun, writer: RunWriter, progress: Progress): Promise<void> {
    const state = await readThreadState(graphRun, run.thread_id);
    progress.values = state.values;
    writer.write("run", "values", "", JSON.stringify(toWire(state.values)));
    for (const event of progress.protocol?.snapshot(state.values) ?? [])
      writer.writeRow("protocol", toProtocolRow(event));
  }

  async #succeeded(run: ClaimedRun, graphRun: GraphRun, progress: Progress): Promise<RunOutcome> {
    // A task beside the one that waits may have said the last values.
    if (progress.values === undefined || progress.interrupted) {
      return this.#fromState(run, graphRun, progress);
    }
    progress.valuesJson = JSON.stringify(toWire(progress.values));
    return {
      status: "success",
      threadStatus: "idle",
      error: null,
      valuesJson: progress.valuesJson,
      interruptsJson: "{}",
    };
  }

  /** The checkpoint knows what the stream does not say: which tasks wait, and the values beneath an interrupt. */
  async #fromState(run: ClaimedRun, graphRun: GraphRun, progress: Progress): Promise<RunOutcome> {
    const state = await readThreadState(graphRun, run.thread_id);
    const values = toWire(state.values) as Record<string, unknown>;
    const interrupts = interruptsByTask(state);
    const list = Object.values(interrupts).flat();
    const waiting = state.next.length > 0;
    progress.valuesJson = JSON.stringify(values);
    progress.resultJson = waiting ? JSON.stringify({ ...values, [interruptKey]: list }) : progress.valuesJson;
    return {
      status: waiting ? "interrupted" : "success",
      threadStatus: waiting ? "interrupted" : "idle",
      error: null,
      valuesJson: progress.valuesJson,
      interruptsJson: JSON.stringify(interrupts),
    };
  }

  async #failed(
    run: ClaimedRun,
    writer: RunWriter,
    signal: AbortSignal,
    progress: Progress,
    error: unknown,
  ): Promise<RunOutcome> {
    const reason = signal.aborted ? (signal.reason as StopReason) : undefined;
    if (reason === "lease_lost" || reason === "shutdown") throw error;
    await progress.writes?.settled();
    if (reason === "interrupt" || reason === "rollback") {
      const outcome = progress.graphRun
        ? await this.#fromState(run, progress.graphRun, progress)
        : nothingDone;
      return { ...outcome, status: "interrupted" };
    }
    const described =
      reason === "timeout"
        ? { error: "TimeoutError", message: "The run took longer than the time limit and was stopped." }
        : describeRunError(error);
    this.#options.logger.warn({ runId: run.run_id, graphId: run.graph_id, err: error }, "run failed");
    writer.write("run", "error", "", JSON.stringify(described));
    const values = progress.values === undefined ? null : JSON.stringify(toWire(progress.values));
    return {
      status: reason === "timeout" ? "timeout" : "error",
      threadStatus: "error",
      error: described,
      valuesJson: values,
      interruptsJson: "{}",
    };
  }
}

/**
 * The graph library takes `false`, `0` and `""` for no answer at all. Named by the interrupt they answer,
 * they arrive.
 */
async function addressAnswer(kwargs: RunKwargs, reader: StateReader, threadId: string): Promise<RunKwargs> {
  const answer = kwargs.command?.resume;
  if (answer === undefined || answer === null || answer) return kwargs;
  const state = await readThreadState(reader, threadId);
  const pending = Object.values(interruptsByTask(state)).flat() as { id?: string }[];
  const id = pending[0]?.id;
  return id === undefined ? kwargs : { ...kwargs, command: { ...kwargs.command, resume: { [id]: answer } } };
}

/** What is known of a run while it runs. */
type Progress = {
  values: unknown;
  valuesJson: string | null;
  resultJson?: string;
  interrupted: boolean;
  graphRun?: GraphRun;
  writes?: CheckpointWrites;
  /** Present while clients of the streaming protocol listen. */
  protocol: ProtocolEventMapper | undefined;
};

const nothingDone: RunOutcome = {
  status: "interrupted",
  threadStatus: "idle",
  error: null,
  valuesJson: null,
  interruptsJson: "{}",
};

function hasInterrupt(values: unknown): boolean {
  return typeof values === "object" && values !== null && interruptKey in values;
}
