/** A thread's state as its graph computes it. Values may be objects of a graph library; `toWire` makes JSON of them. */
export type StateSnapshot = {
  values: unknown;
  next: readonly string[];
  config: { configurable?: Record<string, unknown> };
  metadata?: Record<string, unknown>;
  createdAt?: string;
  parentConfig?: { configurable?: Record<string, unknown> };
  tasks: readonly SnapshotTask[];
};

export type SnapshotTask = {
  id: string;
  name: string;
  path?: readonly unknown[];
  error?: unknown;
  interrupts?: readonly unknown[];
  state?: StateSnapshot | { configurable?: Record<string, unknown> };
  result?: unknown;
};
