/** What a graph can stream while it runs, by the names of the wire. */
export const streamModes = [
  "values",
  "updates",
  "messages",
  "messages-tuple",
  "custom",
  "tasks",
  "checkpoints",
  "debug",
  "events",
  "tools",
] as const;
export type StreamMode = (typeof streamModes)[number];

export type RunConfig = {
  tags?: string[];
  recursion_limit?: number;
  configurable?: Record<string, unknown>;
  [key: string]: unknown;
};

export type RunCommand = {
  update?: unknown;
  resume?: unknown;
  goto?: string | { node: string; input: unknown } | (string | { node: string; input: unknown })[];
};

export type CheckpointRef = {
  checkpoint_id?: string;
  checkpoint_ns?: string;
  checkpoint_map?: Record<string, unknown> | null;
};

/** What a graph is called with: the part of a run's kwargs that concerns the graph, in any language. */
export type GraphCall = {
  input?: unknown;
  command?: RunCommand | null;
  config: RunConfig;
  context?: Record<string, unknown>;
  stream_mode: StreamMode[];
  interrupt_before?: string[] | "*" | null;
  interrupt_after?: string[] | "*" | null;
  subgraphs: boolean;
  durability: "sync" | "async" | "exit";
  checkpoint?: CheckpointRef | null;
};
