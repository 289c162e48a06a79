import { AppError, errorMessage } from "../../../platform/errors.ts";
import { publicConfigurable } from "../../checkpoints/checkpoint-view.ts";
import type { GraphAttempt, GraphExecution, GraphPart, RuntimeGround } from "../graph-runtime.ts";
import type { StateSnapshot } from "../state-snapshot.ts";
import { WorkerLost } from "../worker-lost.ts";
import type { CallStream, Meta } from "./call-stream.ts";
import { toPart } from "./graph-part.ts";
import type { PythonPool } from "./python-pool.ts";
import type { PythonWorker } from "./python-worker.ts";
import { RunWrites } from "./run-writes.ts";
import { storedMeta, storedSegments } from "./stored-segments.ts";

/** A synchronous node is asked to stop after this long, one that awaits at once. */
const interruptMs = 500;
/** A stopped run is over after this time, even if its node still runs. */
const giveUpMs = 2_000;
/** And after this long more its process is replaced. */
const replaceMs = 5_000;

export type PythonExecutionOptions = {
  pool: PythonPool;
  ground: RuntimeGround;
  graphId: string;
  attempt: GraphAttempt;
  readState(): Promise<StateSnapshot>;
};

/** What the latest checkpoint is for Python, so that it need not ask. */
type Beginning = { meta: Meta; segments: readonly string[] };

/** One attempt of a run in a Python process, which it has while its parts are taken and no longer. */
export class PythonExecution implements GraphExecution {
  readonly #options: PythonExecutionOptions;
  readonly #beginning: Beginning;
  readonly #writes: RunWrites;
  #worker: PythonWorker | undefined;
  readonly transformers = [];

  static async start(options: PythonExecutionOptions): Promise<PythonExecution> {
    const { run, call } = options.attempt;
    const { checkpoints } = options.ground;
    const resume = run.attempt > 1 && (await checkpoints.hasCheckpointOf(run.thread_id, run.run_id));
    const fromLatest = resume || !call.checkpoint?.checkpoint_id;
    const latest = { threadId: run.thread_id, checkpointNs: "" };
    const stored = run.newThread || !fromLatest ? undefined : await checkpoints.get(latest);
    const prefetched = fromLatest ? { prefetched: stored ? storedMeta(stored) : null } : {};
    return new PythonExecution(options, {
      meta: { resume, ...prefetched },
      segments: storedSegments(stored),
    });
  }

  private constructor(options: PythonExecutionOptions, beginning: Beginning) {
    this.#options = options;
    this.#beginning = beginning;
    this.#writes = new RunWrites(options.attempt.onWriteFailed);
  }

  async *parts(): AsyncGenerator<GraphPart> {
    const { pool, attempt } = this.#options;
    const { signal, protocol, run } = attempt;
    const worker = await pool.forRun(run.run_id, signal);
    this.#worker = worker;
    const stream = this.#open(worker);
    const stop = () => this.#stop(worker, stream);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    try {
      for await (const item of stream.items()) yield toPart(item, protocol);
    } catch (error) {
      throw worker.runsWhenLost === undefined ? error : lost(worker.runsWhenLost, error);
    } finally {
      signal.removeEventListener("abort", stop);
      worker.disown(stream);
      pool.release(worker, run.run_id);
    }
  }

  state(): Promise<StateSnapshot> {
    return this.#options.readState();
  }

  settled(): Promise<void> {
    return this.#writes.settled();
  }

  get failure(): { error: unknown } | undefined {
    return this.#writes.failure;
  }

  /** The library sends them from its own process, and stops trying after a few seconds. */
  async tracesSent(): Promise<void> {
    if (this.#options.ground.libraryTraces) await this.#worker?.call("traces.sent");
  }

  #open(worker: PythonWorker): CallStream {
    const { attempt, ground, graphId } = this.#options;
    const { run, call, tracing, requireHeld } = attempt;
    const { meta, segments } = this.#beginning;
    const more = {
      metadata: run.metadata,
      checkpointMetadata: publicConfigurable({ ...call.config.configurable, ...attempt.metadata }),
      tracing: { project: tracing.project, example: tracing.example },
    };
    return worker.open(
      "run",
      {
        graphId,
        runId: run.run_id,
        threadId: run.thread_id,
        attempt: run.attempt,
        protocol: attempt.protocol,
        newThread: run.newThread ?? false,
        ...meta,
      },
      [JSON.stringify(callOf(call)), JSON.stringify(more), ...segments],
      {
        checkpoints: ground.checkpoints,
        store: { items: ground.items, workspaceId: run.workspace_id },
        fence: { runId: run.run_id, attempt: run.attempt },
        requireHeld,
        noteWrite: (write) => this.#writes.note(write),
      },
    );
  }

  #stop(worker: PythonWorker, stream: CallStream): void {
    const { pool } = this.#options;
    stream.cancel();
    const later = (waitMs: number, work: () => void) =>
      setTimeout(() => {
        if (!stream.isFinished) work();
      }, waitMs).unref();
    later(interruptMs, () => worker.interrupt(stream));
    later(giveUpMs, () => stream.failed(new Error("The graph did not stop when it was asked to.")));
    later(giveUpMs + replaceMs, () => pool.replace(worker));
  }
}

function lost(runs: number, error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== "graph.worker_lost") return error;
  return new WorkerLost({ message: errorMessage(error), isShared: runs > 1, cause: error });
}

/** Without what of a run's settings is the server's business alone. */
function callOf(call: GraphAttempt["call"]) {
  const { input, command, config, context, stream_mode, subgraphs, durability, checkpoint } = call;
  const { interrupt_before, interrupt_after } = call;
  const graph = { input, command, config, context, stream_mode, subgraphs, durability, checkpoint };
  return { ...graph, interrupt_before, interrupt_after };
}
