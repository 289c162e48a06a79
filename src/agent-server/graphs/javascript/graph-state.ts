import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { StateAddress, StateSnapshot, Superstep } from "../state-snapshot.ts";
import { toCommand } from "./graph-command.ts";
import type { GraphKit } from "./graph-kit.ts";
import type { CompiledGraph } from "./loaded-graph.ts";
import { withPersistence } from "./with-persistence.ts";

/** What the graph library takes a checkpointer from, without writing it onto a graph others use too. */
export const checkpointerKey = "__pregel_checkpointer";

export type StateReader = { graph: CompiledGraph; saver: BaseCheckpointSaver | undefined };

/**
 * A channel that is stored as differences looks for earlier ones in the saver of its graph, not in that of the call, and
 * is empty where it finds none.
 */
function graphOf({ graph, saver }: StateReader): CompiledGraph {
  const channels = Object.values(graph.channels as Record<string, ChannelLike>);
  if (!channels.some(({ lc_graph_name }) => lc_graph_name === "DeltaChannel")) return graph;
  return withPersistence(graph, { checkpointer: saver, store: graph.store });
}

function stateConfig(saver: StateReader["saver"], threadId: string, address: StateAddress = {}) {
  return {
    configurable: {
      thread_id: threadId,
      checkpoint_ns: address.checkpoint_ns ?? "",
      ...(address.checkpoint_id ? { checkpoint_id: address.checkpoint_id } : {}),
      ...(address.checkpoint_map ? { checkpoint_map: address.checkpoint_map } : {}),
      [checkpointerKey]: saver,
    },
  };
}

/**
 * The graph whose checkpoints the address names: the subgraph, for a namespace within the graph. The library would look
 * for it only if the checkpointer were the graph's own. A subgraph that a node invokes in its own code cannot be found.
 */
export async function graphAt(graph: CompiledGraph, address: StateAddress = {}): Promise<CompiledGraph> {
  const steps = (address.checkpoint_ns ?? "").split("|").filter((step) => step !== "" && !/^\d+$/.test(step));
  if (steps.length === 0) return graph;
  const wanted = steps.map((step) => step.split(":")[0]).join("|");
  for await (const [name, subgraph] of graph.getSubgraphsAsync(wanted, true)) {
    if (name === wanted) return subgraph as CompiledGraph;
  }
  return graph;
}

export async function readThreadState(
  reader: StateReader,
  threadId: string,
  options: { subgraphs?: boolean; address?: StateAddress } = {},
): Promise<StateSnapshot> {
  const config = stateConfig(reader.saver, threadId, options.address);
  const snapshot = await graphOf(reader).getState(config as never, { subgraphs: options.subgraphs ?? false });
  return withWaitingTasks(snapshot as unknown as StateSnapshot);
}

/**
 * A task that was answered and asked again has its answer kept, which the library takes for work that is done: it
 * then reports that nothing is next. A step that is really done leaves no tasks behind.
 */
function withWaitingTasks(snapshot: StateSnapshot): StateSnapshot {
  const asking = snapshot.tasks.filter((task) => task.interrupts?.length);
  if (snapshot.next.length > 0 || asking.length === 0) return snapshot;
  return { ...snapshot, next: asking.map((task) => task.name) };
}

export async function readThreadHistory(
  reader: StateReader,
  threadId: string,
  options: { limit: number; before?: StateAddress; address?: StateAddress; filter?: Record<string, unknown> },
): Promise<StateSnapshot[]> {
  const config = stateConfig(reader.saver, threadId, options.address);
  const before = options.before ? stateConfig(reader.saver, threadId, options.before) : undefined;
  const snapshots: StateSnapshot[] = [];
  for await (const snapshot of graphOf(reader).getStateHistory(config as never, {
    limit: options.limit,
    ...(before ? { before: before as never } : {}),
    ...(options.filter ? { filter: options.filter } : {}),
  })) {
    snapshots.push(snapshot as unknown as StateSnapshot);
    // The library passes the limit on, but counts subgraphs' checkpoints too.
    if (snapshots.length >= options.limit) break;
  }
  return snapshots;
}

/** Kinds of channels that return the value they were given unchanged. */
const carryingChannels = new Set(["LastValue", "BinaryOperatorAggregate"]);

/** The library's own kinds of channels whose value is in the checkpoint. */
const storedChannels = new Set([
  ...["AnyValue", "BinaryOperatorAggregate", "DynamicBarrierValue", "EphemeralValue", "LastValue"],
  ...["LastValueAfterFinish", "NamedBarrierValue", "NamedBarrierValueAfterFinish", "Topic"],
]);

/**
 * Whether one checkpoint gives the same state each time: no code of the graph's author has a part in it. Subclasses of
 * channels are their author's, and so is what a channel begins with, unless that is empty.
 */
export function isRepeatable(graph: CompiledGraph): boolean {
  return !looksInside(graph) && Object.values(graph.channels as Record<string, ChannelLike>).every(isStored);
}

function isStored(channel: ChannelLike): boolean {
  const { lg_is_channel, lc_graph_name: kind = "", initialValueFactory } = channel;
  if (!lg_is_channel) return true;
  return storedChannels.has(kind) && channel.constructor.name === kind && isEmpty(initialValueFactory);
}

function isEmpty(factory: (() => unknown) | undefined): boolean {
  const value = factory?.();
  if (typeof value !== "object" || value === null) return !value;
  return (
    Object.keys(value).length === 0 &&
    [Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value))
  );
}

type ChannelLike = {
  /** Channels stand beside values that the library itself provides. */
  lg_is_channel?: boolean;
  lc_graph_name?: string;
  initialValueFactory?: () => unknown;
};

/** Whether it computes a state with code of its author, which is given the values. */
function looksInside(graph: CompiledGraph): boolean {
  return Object.values(graph.nodes as Record<string, NodeLike>).some(
    // The mappers of graphs built from nodes and edges only pick fields; others are their author's.
    (node) => node.cachePolicy?.keyFunc !== undefined || (node.mapper !== undefined && !("builder" in graph)),
  );
}

/** The channels whose values the graph does not look into while it computes a state. */
export function carriedChannels(graph: CompiledGraph): Set<string> {
  if (looksInside(graph)) return new Set();
  const channels = Object.entries(graph.channels as Record<string, ChannelLike>);
  return new Set(
    channels
      .filter(([, { lc_graph_name }]) => carryingChannels.has(lc_graph_name ?? ""))
      .map(([name]) => name),
  );
}

type NodeLike = { cachePolicy?: { keyFunc?: unknown } | undefined; mapper?: unknown };

type Configurable = { configurable?: Record<string, unknown> };

/** Writes values as if the node had returned them; answers the config of the new checkpoint. */
export async function updateThreadState(
  reader: StateReader,
  threadId: string,
  update: { values: unknown; asNode?: string; address?: StateAddress },
): Promise<Configurable> {
  const config = stateConfig(reader.saver, threadId, update.address);
  return (await graphOf(reader).updateState(
    config as never,
    update.values as never,
    update.asNode,
  )) as Configurable;
}

/** Builds a thread's state step by step, as a copy of a thread elsewhere does. */
export async function bulkUpdateState(
  reader: StateReader & { kit: GraphKit },
  threadId: string,
  supersteps: readonly Superstep[],
): Promise<void> {
  const config = stateConfig(reader.saver, threadId);
  await graphOf(reader).bulkUpdateState(
    config as never,
    supersteps.map(({ updates }) => ({
      updates: updates.map((update) => ({
        values: (update.command ? toCommand(reader.kit, update.command) : update.values) as never,
        asNode: update.as_node,
      })),
    })),
  );
}
