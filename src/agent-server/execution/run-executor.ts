import { databaseTrouble } from "../../platform/db/database-errors.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { toWire } from "../checkpoints/message-wire.ts";
import type { EventLog } from "../delivery/event-log.ts";
import { toProtocolRow } from "../delivery/protocol-event.ts";
import { lifecycleOf, speaksProtocol, terminalRow } from "../delivery/terminal-event.ts";
import type { ThreadFeed } from "../delivery/thread-feed.ts";
import type { GraphRegistry } from "../graphs/graph-registry.ts";
import { CheckpointWrites } from "../graphs/javascript/checkpoint-writes.ts";
import type { GraphKit } from "../graphs/javascript/graph-kit.ts";
import { readThreadState, type StateReader } from "../graphs/javascript/graph-state.ts";
import type { StoreFactory } from "../graphs/javascript/graph-store.ts";
import {
  forStreamModes,
  type GraphChunk,
  type GraphRun,
  streamGraph,
} from "../graphs/javascript/graph-stream.ts";
import type { CompiledGraph, LoadedGraph } from "../graphs/javascript/loaded-graph.ts";
import { RunEventMapper } from "../graphs/javascript/run-events.ts";
import { RunTracer, type SpanSink } from "../graphs/javascript/run-tracer.ts";
import type { SaverFactory } from "../graphs/javascript/saver-factory.ts";
import { tracesSent } from "../graphs/library-tracing.ts";
import { type ClaimedRun, describeRunError, type RunKwargs, type RunOutcome } from "../runs/run.ts";
import type { RunResult } from "../runs/run-end.ts";
import { interruptsByTask } from "../threads/thread-state.ts";
import { ProtocolEventMapper } from "./protocol/protocol-events.ts";
import type { StopReason } from "./run-hand-back.ts";
import type { RunLease } from "./run-leases.ts";
import { RunWriter } from "./run-writer.ts";

export type TracePlace = { workspaceId: string; project: string };
export type TracedSpan = Parameters<SpanSink>[0];

export type FeedbackUrls = (
  workspaceId: string,
  runId: string,
  keys: readonly string[],
) => Promise<Record<string, string>>;

export type RunExecutorOptions = {
  graphs: GraphRegistry;
  savers: SaverFactory;
  stores: StoreFactory;
  events: EventLog;
  feed: ThreadFeed;
  logger: Logger;
  /** Where the steps of a run are traced; undefined traces nothing. */
  trace?: ((place: TracePlace, span: TracedSpan) => void) | undefined;
  /** Whether the graph library itself traces runs, as its environment configures. */
  libraryTraces: boolean;
  /** Links with which feedback on a run is given, by key. */
  feedbackUrls?: FeedbackUrls | undefined;
  /** Metadata about the server for the checkpoints and the trace of every run. */
  serverMetadata: Record<string, unknown>;
};

const interruptKey = "__interrupt__";

/** Runs one claimed run to its end. Knows graphs and events, but neither leases nor queues. */
export class RunExecutor {
  readonly #options: RunExecutorOptions;

  constructor(options: RunExecutorOptions) {
    this.#options = options;
  }

  /** Resolves with how it ended; rejects only when it is not ours any more or the database is gone. */
  async execute(run: ClaimedRun, stop: AbortController, lease: RunLease): Promise<RunResult> {
    const onFailure = (error: unknown) => stop.abort(stopReasonOf(error));
    const { events } = this.#options;
    const runNumber = await events.lastNumberOf(run);
    const writer = new RunWriter(run, { events, runNumber, requireHeld: lease.require, onLost: onFailure });
    this.#options.feed.open(run.thread_id, run.last_seq);
    const protocol = speaksProtocol(run) ? new ProtocolEventMapper(run.graph_id, Date.now) : undefined;
    const progress: Progress = {
      values: undefined,
      valuesJson: null,
      interrupted: false,
      protocol,
      onFailure,
    };
    let outcome: RunOutcome;
    try {
      outcome = await this.#runGraph(run, writer, { signal: stop.signal, lease }, progress);
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
    const last = { held: writer.held, terminal };
    return {
      outcome,
      ...last,
      resultJson: outcome.error
        ? JSON.stringify({ __error__: outcome.error })
        : (progress.resultJson ?? progress.valuesJson ?? "{}"),
      numbers: writer.numbers,
    };
  }

  async #runGraph(run: ClaimedRun, writer: RunWriter, held: Held, progress: Progress): Promise<RunOutcome> {
    writer.write("run", "metadata", "", JSON.stringify({ run_id: run.run_id, attempt: run.attempt }));
    const { protocol } = progress;
    if (protocol) writer.writeRow("protocol", toProtocolRow(protocol.start()));
    const loaded = this.#options.graphs.get(run.graph_id);
    const graphRun = await this.#prepare(run, loaded, held, progress);
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
      const invites = asksForAnswer(chunk);
      for (const event of asked ? mapper.map(asked) : []) {
        const row = { name: event.name, namespace: event.namespace, data: JSON.stringify(event.data) };
        if (invites && !event.name.startsWith("messages")) writer.hold("run", row);
        else writer.writeRow("run", row);
      }
      for (const event of protocol?.map(chunk) ?? []) {
        if (event.method === "input.requested") writer.hold("protocol", toProtocolRow(event));
        else writer.writeRow("protocol", toProtocolRow(event));
      }
      await writer.room();
    }
    held.signal.throwIfAborted();
    await this.#offerFeedback(run, writer, graphRun.tracer);
    return this.#succeeded(run, graphRun, progress);
  }

  /** The last event of a run. A tracing service that is away must not fail what the graph has done. */
  async #offerFeedback(run: ClaimedRun, writer: RunWriter, tracer: GraphRun["tracer"]): Promise<void> {
    const { feedback_keys: keys } = run.kwargs;
    const { feedbackUrls, logger } = this.#options;
    if (!keys?.length || !feedbackUrls) return;
    try {
      // A key that may write to one project alone is given links for runs that are there, and in that project.
      if (tracer && this.#options.libraryTraces) await tracesSent(tracer);
      const urls = await feedbackUrls(run.workspace_id, run.run_id, keys);
      const row = { name: "feedback", namespace: "", data: JSON.stringify(urls) };
      if (writer.held.length > 0) writer.hold("run", row);
      else writer.writeRow("run", row);
    } catch (error) {
      if (databaseTrouble(error)) throw error;
      logger.warn({ runId: run.run_id, err: error }, "there are no links for feedback on this run");
    }
  }

  async #prepare(
    run: ClaimedRun,
    loaded: LoadedGraph,
    { signal, lease }: Held,
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
    const facts = { ...run.metadata, ...serverMetadata, run_attempt: run.attempt };
    const metadata = { ...run.kwargs.config.configurable, ...facts };
    const saver = this.#options.savers.forRun(kit, run, metadata, lease.require);
    progress.writes = new CheckpointWrites(saver, progress.onFailure);
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
      tracer: this.#tracer(run, kit, facts),
      protocol: speaksProtocol(run),
      resume: run.attempt > 1 && (await this.#options.savers.hasCheckpointOf(run.thread_id, run.run_id)),
    };
  }

  #tracer(run: ClaimedRun, kit: GraphKit, metadata: Record<string, unknown>): GraphRun["tracer"] {
    const { trace, libraryTraces } = this.#options;
    const { tracing_project: projectName, tracing_example: exampleId, feedback_keys: keys } = run.kwargs;
    const offersFeedback = libraryTraces && Boolean(keys?.length);
    // The library takes it for its own, and makes no other beside it.
    if (!trace && (projectName || exampleId || offersFeedback))
      return new kit.LangChainTracer({
        ...(projectName && { projectName }),
        ...(exampleId && { exampleId }),
        // The trace of the run is then on its way to the tracing service when the run ends, and can be waited for.
        ...(offersFeedback && { _awaitHandler: true }),
      });
    if (!trace) return undefined;
    const place = { workspaceId: run.workspace_id, project: projectName ?? run.graph_id };
    const root = { id: run.run_id, name: run.graph_id, metadata, exampleId };
    return new RunTracer(root, (span) => trace(place, span));
  }

  /** After a retry the log holds the events of the dead attempt; a snapshot lets clients correct themselves. */
  async #snapshot(run: ClaimedRun, graphRun: GraphRun, writer: RunWriter, progress: Progress): Promise<void> {
    const state = await readThreadState(graphRun, run.thread_id);
    progress.values = state.values;
    writer.write("run", "values", "", JSON.stringify(toWire(state.values)));
    for (const event of progress.protocol?.snapshot(state.values) ?? [])
      writer.writeRow("protocol", toProtocolRow(event));
  }

  async #succeeded(run: ClaimedRun, graphRun: GraphRun, progress: Progress): Promise<RunOutcome> {
    // A task beside the one that waits may have written the last values.
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

  /** The checkpoint knows what the stream does not carry: which tasks wait, and the values beneath an interrupt. */
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
    await progress.writes?.settled();
    const reason = signal.aborted ? (signal.reason as StopReason) : undefined;
    const failure = progress.writes?.failure?.error;
    if (reason && leavesRun.has(reason)) throw error;
    // Ours, whatever the graph made of it: it is resumed where it stood when the database is back.
    const trouble = databaseTrouble(failure) ?? databaseTrouble(error);
    if (trouble) throw trouble;
    if (reason === "interrupt" || reason === "rollback") {
      const outcome = progress.graphRun
        ? await this.#fromState(run, progress.graphRun, progress)
        : nothingDone;
      return { ...outcome, status: "interrupted" };
    }
    const described =
      reason === "timeout"
        ? { error: "TimeoutError", message: "The run took longer than the time limit and was stopped." }
        : describeRunError(reason === "refused" ? failure : error);
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

/** Reasons to stop without writing the run's end: another attempt goes on. */
const leavesRun: ReadonlySet<StopReason> = new Set(["lease_lost", "lease_ended", "shutdown", "database"]);

function stopReasonOf(error: unknown): StopReason {
  if (error instanceof AppError && error.code === "run.lease_lost") return "lease_lost";
  if (error instanceof AppError && error.code === "run.lease_ended") return "lease_ended";
  return databaseTrouble(error) ? "database" : "refused";
}

/** What stops a run. */
type Held = { signal: AbortSignal; lease: RunLease };

/** What is known of a run while it runs. */
type Progress = {
  /** A write failed: the run must stop. */
  onFailure(error: unknown): void;
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

/** A client may answer as soon as it gets it. */
function asksForAnswer(chunk: GraphChunk): boolean {
  return (
    chunk.kind === "chunk" &&
    (chunk.mode === "values" || chunk.mode === "updates") &&
    hasInterrupt(chunk.payload)
  );
}

function hasInterrupt(values: unknown): boolean {
  return typeof values === "object" && values !== null && interruptKey in values;
}
