import { databaseTrouble } from "../../platform/db/database-errors.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { within } from "../../platform/within.ts";
import { toWire } from "../checkpoints/message-wire.ts";
import type { EventLog } from "../delivery/event-log.ts";
import { toProtocolRow } from "../delivery/protocol-event.ts";
import { lifecycleOf, speaksProtocol, terminalRow } from "../delivery/terminal-event.ts";
import type { EventNumbers } from "../delivery/thread-event.ts";
import type { ThreadFeed } from "../delivery/thread-feed.ts";
import type { RunnableGraphs } from "../graphs/graph-registry.ts";
import type { GraphExecution } from "../graphs/graph-runtime.ts";
import type { ResumedAttempt } from "../graphs/resumed-attempt.ts";
import { interruptKey, interruptsByTask } from "../graphs/state-snapshot.ts";
import { WorkerLost } from "../graphs/worker-lost.ts";
import { type ClaimedRun, describeRunError, type RunError, type RunOutcome } from "../runs/run.ts";
import { beginningOf } from "../runs/run-beginning.ts";
import type { RunResult } from "../runs/run-end.ts";
import type { AttemptTraces } from "./attempt-traces.ts";
import { projectPlace } from "./project-place.ts";
import { ProtocolEventMapper } from "./protocol/protocol-events.ts";
import type { StopReason } from "./run-hand-back.ts";
import type { RunLease } from "./run-leases.ts";
import { RunWriter } from "./run-writer.ts";

export type FeedbackUrls = (
  workspaceId: string,
  runId: string,
  keys: readonly string[],
) => Promise<Record<string, string>>;

export type RunExecutorOptions = {
  graphs: RunnableGraphs;
  events: EventLog;
  feed: ThreadFeed;
  logger: Logger;
  /** Links for giving feedback on a run, by key. */
  feedbackUrls?: FeedbackUrls | undefined;
  /** Sends attempts to the tracing service when the graph library traces. */
  attemptTraces?: AttemptTraces | undefined;
  /** Metadata about the server for the checkpoints and the trace of every run. */
  serverMetadata: Record<string, unknown>;
  /** The project whose source lines are named in a run's error. Left out: clients learn nothing about its files. */
  placesIn?: string | undefined;
};

/** How long a run that is handed back waits for its last events to be stored: its process may be stopping. */
const lastWordsMs = 200;

/** Runs one claimed run to its end. Knows graphs and events, but neither leases nor queues. */
export class RunExecutor {
  readonly #options: RunExecutorOptions;

  constructor(options: RunExecutorOptions) {
    this.#options = options;
  }

  /** Resolves with how it ended; rejects only when it is not ours any more or the database is gone. */
  async execute(run: ClaimedRun, stop: AbortController, lease: RunLease): Promise<RunResult> {
    const onFailure = (error: unknown) => stop.abort(stopReasonOf(error));
    const { events, feed } = this.#options;
    const writer = new RunWriter(run, {
      events,
      numbers: await numbersBefore(run, events),
      requireHeld: lease.require,
      onLost: onFailure,
      isFollowed: () => feed.isFollowed(run.thread_id),
    });
    feed.whenFollowed(run.thread_id, () => writer.flush());
    const protocol = speaksProtocol(run) ? new ProtocolEventMapper(run.graph_id, Date.now) : undefined;
    const progress: Progress = {
      values: undefined,
      valuesJson: null,
      interrupted: false,
      protocol,
      onFailure,
    };
    let outcome: RunOutcome;
    this.#options.attemptTraces?.began(run);
    try {
      outcome = await this.#runGraph(run, writer, { signal: stop.signal, lease }, progress);
    } catch (error) {
      outcome = await this.#failed(run, writer, stop.signal, progress, error).catch(async (left: unknown) => {
        // Another attempt goes on after the last checkpoint: it does not tell again what came before that.
        await within(lastWordsMs, writer.flushed());
        throw left;
      });
    }
    this.#options.attemptTraces?.ended(run, outcome);
    const lastEvents = await protocol?.finish(lifecycleOf(outcome.status), {
      error: outcome.error?.message,
      onTransformerFailure: (error) =>
        this.#options.logger.warn({ runId: run.run_id, err: error }, "a stream transformer failed"),
    });
    for (const event of lastEvents ?? []) writer.writeRow("protocol", toProtocolRow(event));
    const unwritten = await writer.settled();
    const terminal = protocol ? terminalRow(run, outcome, Date.now()) : null;
    const last = { unwritten, held: writer.held, terminal };
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
    if (!run.begun) writer.write("run", "metadata", "", beginningOf(run));
    const { protocol } = progress;
    if (protocol) writer.writeRow("protocol", toProtocolRow(protocol.start()));
    const execution = await this.#start(run, held, progress);
    progress.execution = execution;
    protocol?.attach(execution.transformers as never);
    if (run.attempt > 1) await this.#snapshot(execution, writer, progress);
    for await (const { events, invites, chunk } of execution.parts()) {
      if (chunk.kind === "chunk" && chunk.mode === "values" && chunk.namespace.length === 0) {
        progress.values = chunk.payload;
        // Where its client asked for values, they are text already; the end of the run needs the same text.
        progress.valuesJson = events[0]?.name === "values" ? events[0].data : null;
        progress.interrupted ||= invites;
      }
      for (const event of events) {
        if (invites && !event.name.startsWith("messages")) writer.hold("run", event);
        else writer.writeRow("run", event);
      }
      for (const event of protocol?.map(chunk) ?? []) {
        if (event.method === "input.requested") writer.hold("protocol", toProtocolRow(event));
        else writer.writeRow("protocol", toProtocolRow(event));
      }
      await writer.room();
    }
    held.signal.throwIfAborted();
    await this.#offerFeedback(run, writer, execution);
    return this.#succeeded(execution, progress);
  }

  /** The last event of a run. A tracing service that is away must not fail what the graph has done. */
  async #offerFeedback(run: ClaimedRun, writer: RunWriter, execution: GraphExecution): Promise<void> {
    const { feedback_keys: keys } = run.kwargs;
    const { feedbackUrls, logger } = this.#options;
    if (!keys?.length || !feedbackUrls) return;
    try {
      // A key that may write to one project alone is given links for runs that are there, and in that project.
      await execution.tracesSent();
      const urls = await feedbackUrls(run.workspace_id, run.run_id, keys);
      const row = { name: "feedback", namespace: "", data: JSON.stringify(urls) };
      if (writer.held.length > 0) writer.hold("run", row);
      else writer.writeRow("run", row);
    } catch (error) {
      if (databaseTrouble(error)) throw error;
      logger.warn({ runId: run.run_id, err: error }, "there are no links for feedback on this run");
    }
  }

  #start(run: ClaimedRun, { signal, lease }: Held, progress: Progress): Promise<GraphExecution> {
    const { kwargs } = run;
    return this.#options.graphs.get(run.graph_id).start({
      run,
      call: kwargs,
      metadata: { ...run.metadata, ...this.#options.serverMetadata, run_attempt: run.attempt },
      tracing: {
        project: kwargs.tracing_project,
        example: kwargs.tracing_example,
        offersFeedback: Boolean(kwargs.feedback_keys?.length),
        resumed: resumedAttempt(run),
        isHandedBack: () => signal.aborted && leavesRun.has(signal.reason as StopReason),
      },
      protocol: progress.protocol !== undefined,
      signal,
      requireHeld: lease.require,
      onWriteFailed: progress.onFailure,
    });
  }

  /** After a retry the log holds the events of the dead attempt; a snapshot lets clients correct themselves. */
  async #snapshot(execution: GraphExecution, writer: RunWriter, progress: Progress): Promise<void> {
    const state = await execution.state();
    progress.values = state.values;
    progress.valuesJson = JSON.stringify(toWire(state.values));
    writer.write("run", "values", "", progress.valuesJson);
    for (const event of progress.protocol?.snapshot(state.values) ?? [])
      writer.writeRow("protocol", toProtocolRow(event));
  }

  async #succeeded(execution: GraphExecution, progress: Progress): Promise<RunOutcome> {
    // A task beside the one that waits may have written the last values.
    if (progress.values === undefined || progress.interrupted) {
      return this.#fromState(execution, progress);
    }
    return {
      status: "success",
      threadStatus: "idle",
      error: null,
      valuesJson: lastValuesJson(progress),
      interruptsJson: "{}",
    };
  }

  /** The checkpoint knows what the stream does not carry: which tasks wait, and the values beneath an interrupt. */
  async #fromState(execution: GraphExecution, progress: Progress): Promise<RunOutcome> {
    const state = await execution.state();
    const interrupts = interruptsByTask(state);
    const waiting = state.next.length > 0;
    progress.valuesJson = JSON.stringify(toWire(state.values));
    progress.resultJson = waiting
      ? withInterrupts(progress.valuesJson, Object.values(interrupts).flat())
      : progress.valuesJson;
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
    await progress.execution?.settled();
    const reason = signal.aborted ? (signal.reason as StopReason) : undefined;
    const failure = progress.execution?.failure?.error;
    if (reason && leavesRun.has(reason)) throw error;
    // A database failure is ours, even if the graph wrapped it. The run is resumed when the database is back.
    const trouble = databaseTrouble(failure) ?? databaseTrouble(error);
    if (trouble) throw trouble;
    // The process ended, not the graph: another attempt continues.
    if (!reason && error instanceof WorkerLost) throw error;
    if (reason === "interrupt" || reason === "rollback") {
      const outcome = progress.execution ? await this.#fromState(progress.execution, progress) : nothingDone;
      return { ...outcome, status: "interrupted" };
    }
    const described: RunError =
      reason === "timeout"
        ? { error: "TimeoutError", message: "The run reached its timeout and was stopped." }
        : this.#described(reason === "refused" ? failure : error);
    this.#options.logger.warn({ runId: run.run_id, graphId: run.graph_id, err: error }, "run failed");
    writer.write("run", "error", "", JSON.stringify(described));
    return {
      status: reason === "timeout" ? "timeout" : "error",
      threadStatus: "error",
      error: described,
      valuesJson: progress.values === undefined ? null : lastValuesJson(progress),
      interruptsJson: "{}",
    };
  }

  #described(error: unknown): RunError {
    const { placesIn } = this.#options;
    const at = placesIn && error instanceof Error ? projectPlace(error.stack, placesIn) : undefined;
    return { ...describeRunError(error), ...(at ? { at } : {}) };
  }
}

/** The last numbers given out before this attempt writes. */
async function numbersBefore(run: ClaimedRun, events: EventLog): Promise<EventNumbers> {
  const { last_seq: seq, protocol_seq: protocol } = run;
  if (run.begun) return { seq: seq + 1, protocol, run: 0 };
  return { seq, protocol, run: await events.lastNumberOf(run) };
}

/** Undefined for the first attempt. */
function resumedAttempt({ attempt, started_at }: ClaimedRun): ResumedAttempt | undefined {
  if (attempt < 2 || started_at === null) return undefined;
  return { number: attempt, startedAt: started_at };
}

/** Reasons to stop without ending the run: another attempt continues it. */
const leavesRun: ReadonlySet<StopReason> = new Set(["lease_lost", "lease_ended", "shutdown", "database"]);

function stopReasonOf(error: unknown): StopReason {
  if (error instanceof AppError && error.code === "run.lease_lost") return "lease_lost";
  if (error instanceof AppError && error.code === "run.lease_ended") return "lease_ended";
  return databaseTrouble(error) ? "database" : "refused";
}

/** The last values as the wire has them, written once. */
function lastValuesJson(progress: Progress): string {
  progress.valuesJson ??= JSON.stringify(toWire(progress.values));
  return progress.valuesJson;
}

/** With what the graph asks beside the values, as a client that waits for the run gets them. */
function withInterrupts(valuesJson: string, interrupts: readonly unknown[]): string {
  const field = `${JSON.stringify(interruptKey)}:${JSON.stringify(interrupts)}`;
  if (valuesJson === "{}") return `{${field}}`;
  if (valuesJson.startsWith("{")) return `${valuesJson.slice(0, -1)},${field}}`;
  // The values of a graph with one unnamed channel may be anything.
  return JSON.stringify({ ...(JSON.parse(valuesJson) as object), [interruptKey]: interrupts });
}

/** What stops a run. */
type Held = { signal: AbortSignal; lease: RunLease };

/** What is known of a run while it runs. */
type Progress = {
  /** A write failed: the run must stop. */
  onFailure(error: unknown): void;
  values: unknown;
  /** `values` as JSON text; null until it is needed. */
  valuesJson: string | null;
  resultJson?: string;
  interrupted: boolean;
  execution?: GraphExecution;
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
