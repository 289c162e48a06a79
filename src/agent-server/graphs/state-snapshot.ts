import { toWire } from "../checkpoints/message-wire.ts";
import type { RunCommand } from "./graph-call.ts";

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

/** Which state of a thread is meant. */
export type StateAddress = {
  checkpoint_id?: string | null;
  checkpoint_ns?: string | null;
  checkpoint_map?: Record<string, unknown> | null;
};

export type Superstep = {
  updates: { values?: unknown; command?: RunCommand | null | undefined; as_node: string }[];
};

/** Task id to its interrupts, as a thread carries them; a task that has its result was answered. */
export function interruptsByTask(snapshot: StateSnapshot): Record<string, unknown[]> {
  const map: Record<string, unknown[]> = {};
  for (const task of snapshot.tasks) {
    if (task.interrupts?.length && isUnanswered(task))
      map[task.id] = task.interrupts.map((interrupt) => toWire(interrupt));
  }
  return map;
}

function isUnanswered({ result }: SnapshotTask): boolean {
  return result === undefined || result === null;
}

/** Where values and updates carry what the graph asks. */
export const interruptKey = "__interrupt__";

export function hasInterrupt(values: unknown): boolean {
  return typeof values === "object" && values !== null && interruptKey in values;
}
