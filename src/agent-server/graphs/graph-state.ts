import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { StateSnapshot } from "../threads/thread-state.ts";
import type { CompiledGraph } from "./loaded-graph.ts";

/** What the graph library takes a checkpointer from, without writing it onto a graph others use too. */
export const checkpointerKey = "__pregel_checkpointer";

export type StateReader = { graph: CompiledGraph; saver: BaseCheckpointSaver | undefined };

export type StateAddress = {
  checkpoint_id?: string;
  checkpoint_ns?: string;
  checkpoint_map?: Record<string, unknown> | null;
};

export function stateConfig(saver: StateReader["saver"], threadId: string, address: StateAddress = {}) {
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

export async function readThreadState(
  reader: StateReader,
  threadId: string,
  options: { subgraphs?: boolean; address?: StateAddress } = {},
): Promise<StateSnapshot> {
  const config = stateConfig(reader.saver, threadId, options.address);
  const snapshot = await reader.graph.getState(config as never, { subgraphs: options.subgraphs ?? false });
  return snapshot as unknown as StateSnapshot;
}
