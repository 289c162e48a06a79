import type { GraphAttempt, GraphChunk, GraphExecution, GraphPart, RuntimeGround } from "../graph-runtime.ts";
import { tracesSent } from "../library-tracing.ts";
import { hasInterrupt, interruptsByTask, type StateSnapshot } from "../state-snapshot.ts";
import { CheckpointWrites } from "./checkpoint-writes.ts";
import { readThreadState } from "./graph-state.ts";
import type { StoreFactory } from "./graph-store.ts";
import { forStreamModes, type GraphRun, graphInput, streamGraph } from "./graph-stream.ts";
import type { JavascriptGraph } from "./loaded-graph.ts";
import { RunEventMapper } from "./run-events.ts";
import { RunTracer } from "./run-tracer.ts";
import type { SaverFactory } from "./saver-factory.ts";

type Parts = { loaded: JavascriptGraph; savers: SaverFactory; stores: StoreFactory; ground: RuntimeGround };

/** Makes the graph and binds it to this attempt: its checkpoints are refused once another attempt holds the run. */
export async function startGraph(
  { loaded, savers, stores, ground }: Parts,
  attempt: GraphAttempt,
): Promise<GraphExecution> {
  const { kit } = loaded;
  const { run, call, signal, protocol } = attempt;
  const graph = await loaded.resolve(call.config, "threads.create_run", call.context);
  // Not in the config: the graph library would carry them along and copy them at every step.
  const metadata = { ...call.config.configurable, ...attempt.metadata };
  const saver = savers.forRun(kit, run, metadata, attempt.requireHeld);
  const writes = new CheckpointWrites(saver, attempt.onWriteFailed);
  const state = () => readThreadState({ graph, saver }, run.thread_id);
  const tracer = tracerOf(loaded, ground, attempt);
  const graphRun: GraphRun = {
    graph,
    kit,
    kwargs: await addressAnswer(call, state),
    runId: run.run_id,
    metadata: run.metadata,
    saver,
    store: stores.forWorkspace(kit, run.workspace_id),
    signal,
    tracer,
    protocol,
    resume: run.attempt > 1 && (await savers.hasCheckpointOf(run.thread_id, run.run_id)),
  };
  const mapper = new RunEventMapper(call.stream_mode);
  const toPart = (chunk: GraphChunk): GraphPart => {
    const asked = forStreamModes(chunk, call);
    const events = asked ? mapper.map(asked) : [];
    return {
      events: events.map(({ name, namespace, data }) => ({ name, namespace, data: JSON.stringify(data) })),
      invites: asksForAnswer(chunk),
      chunk,
    };
  };
  return {
    parts: () => streamGraph(graphRun, toPart),
    state,
    settled: () => writes.settled(),
    get failure() {
      return writes.failure;
    },
    transformers: graph.streamTransformers ?? [],
    tracesSent: async () => {
      if (tracer && ground.libraryTraces) await tracesSent(tracer);
    },
  };
}

function tracerOf(
  { kit, graphId }: JavascriptGraph,
  { trace, libraryTraces }: RuntimeGround,
  { run, call, metadata, tracing }: GraphAttempt,
): GraphRun["tracer"] {
  const { project: projectName, example: exampleId } = tracing;
  const offersFeedback = libraryTraces && tracing.offersFeedback;
  // The library takes it for its own, and makes no other beside it.
  if (!trace && (projectName || exampleId || offersFeedback))
    return new kit.LangChainTracer({
      ...(projectName && { projectName }),
      ...(exampleId && { exampleId }),
      // The trace of the run is then on its way to the tracing service when the run ends, and can be waited for.
      ...(offersFeedback && { _awaitHandler: true }),
    });
  if (!trace) return undefined;
  const place = { workspaceId: run.workspace_id, project: projectName ?? graphId };
  const { resumed, isHandedBack } = tracing;
  const root = {
    ...{ id: run.run_id, name: graphId, metadata, exampleId, isHandedBack },
    ...(resumed && { resumed: { ...resumed, inputs: graphInput(kit, call) } }),
  };
  return new RunTracer(root, (span) => trace(place, span));
}

/**
 * The graph library takes `false`, `0` and `""` for no answer at all. Named by the interrupt they answer,
 * they arrive.
 */
async function addressAnswer(
  call: GraphAttempt["call"],
  state: () => Promise<StateSnapshot>,
): Promise<GraphAttempt["call"]> {
  const answer = call.command?.resume;
  if (answer === undefined || answer === null || answer) return call;
  const pending = Object.values(interruptsByTask(await state())).flat() as { id?: string }[];
  const id = pending[0]?.id;
  return id === undefined ? call : { ...call, command: { ...call.command, resume: { [id]: answer } } };
}

/** A client may answer as soon as it gets it. */
function asksForAnswer(chunk: GraphChunk): boolean {
  return (
    chunk.kind === "chunk" &&
    (chunk.mode === "values" || chunk.mode === "updates") &&
    hasInterrupt(chunk.payload)
  );
}
