import type { BaseCheckpointSaver, Command, ProtocolEvent, StateSnapshot } from "@langchain/langgraph";

export type GraphConfig = { configurable: Record<string, unknown>; metadata?: Record<string, unknown> };

type RunEvents = AsyncIterable<ProtocolEvent> & { readonly interrupted: boolean };

/** What the application needs of a compiled graph. */
export type ChatGraph = {
  streamEvents(
    input: Record<string, unknown> | Command | null,
    options: GraphConfig & { version: "v3"; signal: AbortSignal; recursionLimit?: number },
  ): Promise<RunEvents>;
  getState(config: GraphConfig): Promise<StateSnapshot>;
  updateState(config: GraphConfig, values: Record<string, unknown> | null, asNode?: string): Promise<unknown>;
};

/** A graph people can talk to. Any number of them may work on one thread: they share its checkpoints. */
export type Assistant = {
  assistant_id: string;
  name: string;
  description: string;
  /** Sent with every run as `configurable`; what the client sends wins. */
  settings?: Record<string, unknown>;
  withCheckpointer(checkpointer: BaseCheckpointSaver): ChatGraph;
};
