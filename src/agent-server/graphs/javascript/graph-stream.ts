import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph-checkpoint";
import type { GraphCall } from "../graph-call.ts";
import type { GraphChunk, GraphMode } from "../graph-runtime.ts";
import { toCommand } from "./graph-command.ts";
import type { GraphKit } from "./graph-kit.ts";
import { checkpointerKey } from "./graph-state.ts";
import type { CompiledGraph } from "./loaded-graph.ts";
import type { RunTracer } from "./run-tracer.ts";

export type GraphRun = {
  graph: CompiledGraph;
  kit: GraphKit;
  kwargs: GraphCall;
  runId: string;
  metadata: Record<string, unknown>;
  saver: BaseCheckpointSaver | undefined;
  store: BaseStore | undefined;
  signal: AbortSignal;
  /** Clients of the streaming protocol listen: everything is streamed, at every level. */
  protocol: boolean;
  /** Go on from the last checkpoint instead of applying the input again. */
  resume: boolean;
  tracer?: RunTracer | InstanceType<GraphKit["LangChainTracer"]> | undefined;
};

/** Runs the graph and yields its chunks, in order and as `toItem` has them. */
export async function* streamGraph<Item>(
  run: GraphRun,
  toItem: (chunk: GraphChunk) => Item,
): AsyncGenerator<Item> {
  const { graph, kwargs } = run;
  const input = run.resume ? null : graphInput(run.kit, kwargs);
  const subgraphs = kwargs.subgraphs || run.protocol;
  const options = { ...graphConfig(run), streamMode: graphModes(run), subgraphs };
  if (kwargs.stream_mode.includes("events")) {
    const events = graph.streamEvents(input as never, { ...options, version: "v2" } as never);
    for await (const event of events as unknown as AsyncIterable<CallbackEvent>) {
      if (event.event === "on_chain_stream" && event.run_id === run.runId) {
        const chunk = toChunk(event.data?.chunk, subgraphs);
        if (chunk) yield toItem(chunk);
      } else if (!event.tags?.includes("langsmith:hidden")) {
        yield toItem({ kind: "event", event });
      }
    }
    return;
  }
  // Version 3 sends messages as content blocks; a client of the older modes wants message chunks.
  const speaksBlocks = run.protocol && !kwargs.stream_mode.some((mode) => mode.startsWith("messages"));
  const version = speaksBlocks ? { version: "v3" } : {};
  const stream = await graph.stream(input as never, { ...options, ...version } as never);
  for await (const part of stream as AsyncIterable<unknown>) {
    const chunk = toChunk(part, subgraphs);
    if (chunk) yield toItem(chunk);
  }
}

/**
 * The chunk as the run's own stream modes would have it. A run that also speaks the streaming protocol yields
 * more than they asked for: without `subgraphs` they get the state of the root alone, and messages, tools and
 * custom events without their namespace.
 */
export function forStreamModes(
  chunk: GraphChunk,
  kwargs: Pick<GraphCall, "subgraphs">,
): GraphChunk | undefined {
  if (chunk.kind === "event" || kwargs.subgraphs || chunk.namespace.length === 0) return chunk;
  const anywhere = chunk.mode === "messages" || chunk.mode === "tools" || chunk.mode === "custom";
  return anywhere ? { ...chunk, namespace: [] } : undefined;
}

type CallbackEvent = { event: string; run_id: string; tags?: string[]; data?: { chunk?: unknown } };

function toChunk(part: unknown, subgraphs: boolean): GraphChunk | undefined {
  if (!Array.isArray(part)) return undefined;
  if (subgraphs) {
    const [namespace, mode, payload] = part as [string[], GraphMode, unknown];
    return { kind: "chunk", namespace: namespace ?? [], mode, payload };
  }
  const [mode, payload] = part as [GraphMode, unknown];
  return { kind: "chunk", namespace: [], mode, payload };
}

const protocolModes: readonly GraphMode[] = ["values", "updates", "messages", "tools", "custom", "tasks"];

function graphModes({ kwargs, protocol }: Pick<GraphRun, "kwargs" | "protocol">): GraphMode[] {
  const modes = new Set<GraphMode>(protocol ? protocolModes : ["values"]);
  for (const mode of kwargs.stream_mode) {
    if (mode === "messages-tuple") modes.add("messages");
    else if (mode !== "events") modes.add(mode);
  }
  return [...modes];
}

/** The config of one execution, as the graph library wants it. */
export function graphConfig(run: GraphRun): Record<string, unknown> {
  const { kwargs } = run;
  const { configurable, recursion_limit, ...rest } = kwargs.config;
  // A resumed attempt continues from its own last checkpoint, not from the one it was forked from.
  const checkpoint = run.resume ? undefined : kwargs.checkpoint;
  return {
    ...rest,
    configurable: {
      ...configurable,
      ...(checkpoint ? { ...checkpoint, checkpoint_ns: checkpoint.checkpoint_ns ?? "" } : {}),
      ...(run.saver ? { [checkpointerKey]: run.saver } : {}),
    },
    metadata: run.metadata,
    ...(recursion_limit ? { recursionLimit: recursion_limit } : {}),
    ...(hasKeys(kwargs.context) ? { context: kwargs.context } : {}),
    ...(kwargs.interrupt_before ? { interruptBefore: kwargs.interrupt_before } : {}),
    ...(kwargs.interrupt_after ? { interruptAfter: kwargs.interrupt_after } : {}),
    ...(run.store ? { store: run.store } : {}),
    durability: kwargs.durability,
    runId: run.runId,
    signal: run.signal,
    ...(run.tracer ? { callbacks: [run.tracer] } : {}),
  };
}

/** What the graph is started with: its input, a command, or nothing to go on where it stopped. */
export function graphInput(kit: GraphKit, kwargs: Pick<GraphCall, "input" | "command">): unknown {
  if (!kwargs.command) return kwargs.input ?? null;
  return toCommand(kit, kwargs.command);
}

function hasKeys(value: object | undefined): boolean {
  return value !== undefined && Object.keys(value).length > 0;
}
