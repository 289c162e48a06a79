import { type CheckpointView, checkpointOf, publicConfigurable } from "../checkpoints/checkpoint-view.ts";
import { toWire } from "../checkpoints/message-wire.ts";
import { WireText } from "../checkpoints/wire-text.ts";
import type { SnapshotTask, StateSnapshot } from "../graphs/state-snapshot.ts";

export type ThreadTask = {
  id: string;
  name: string;
  path: unknown;
  error: unknown;
  interrupts: unknown[];
  /** Of a subgraph whose state was not asked for: where to ask for it. */
  checkpoint: Partial<CheckpointView> | null;
  /** Without the list of all its interrupts, which stand at its tasks: so the clients' own types have it. */
  state: Omit<ThreadState, "interrupts"> | null;
  result: unknown;
};

export type ThreadState = {
  values: unknown;
  next: string[];
  tasks: ThreadTask[];
  metadata: Record<string, unknown>;
  created_at: string | null;
  checkpoint: CheckpointView | null;
  parent_checkpoint: CheckpointView | null;
  interrupts: unknown[];
};

/** A thread that never ran. */
export const emptyThreadState: ThreadState = {
  values: {},
  next: [],
  tasks: [],
  metadata: {},
  created_at: null,
  checkpoint: null,
  parent_checkpoint: null,
  interrupts: [],
};

/** The wire form of a snapshot. */
export function toThreadState(snapshot: StateSnapshot): ThreadState {
  const tasks = snapshot.tasks.map(toTask);
  const known = snapshot.config.configurable?.checkpoint_id !== undefined;
  return {
    values: toWire(snapshot.values ?? {}),
    next: [...snapshot.next],
    tasks,
    metadata: (toWire(snapshot.metadata ?? {}) ?? {}) as Record<string, unknown>,
    created_at: snapshot.createdAt ?? null,
    checkpoint: known ? checkpointOf(snapshot.config) : null,
    parent_checkpoint: snapshot.parentConfig ? checkpointOf(snapshot.parentConfig) : null,
    interrupts: tasks.flatMap((task) => task.interrupts),
  };
}

/** JSON, or a value that is JSON text already and the channel it is of, where it is the whole value of one. */
export type StatePart = string | { channel?: string; text: WireText };

/** `toThreadState` as parts of JSON; values that are text already go in as they are. */
export function toThreadStateJson(snapshot: StateSnapshot): StatePart[] {
  const { values: _values, ...rest } = toThreadState({ ...snapshot, values: {} });
  return ['{"values":', ...valuesJson(snapshot.values ?? {}), `,${JSON.stringify(rest).slice(1)}`];
}

function valuesJson(values: unknown): StatePart[] {
  if (values instanceof WireText) return [{ text: values }];
  const channels = typeof values === "object" && values !== null ? Object.entries(values) : [];
  if (!channels.some(([, value]) => value instanceof WireText)) return [JSON.stringify(toWire(values))];
  const fields = channels.flatMap(([name, value]) => {
    if (value instanceof WireText) return [`,${JSON.stringify(name)}:`, { channel: name, text: value }];
    const field = JSON.stringify(toWire({ [name]: value }));
    return field === "{}" ? [] : [`,${field.slice(1, -1)}`];
  });
  return ["{", String(fields[0]).slice(1), ...fields.slice(1), "}"];
}

function toTask(task: SnapshotTask): ThreadTask {
  const state = task.state;
  const nested = state && "values" in state ? nestedState(state) : null;
  const config = state && !("values" in state) ? state : undefined;
  return {
    id: task.id,
    name: task.name,
    path: task.path ?? null,
    error: task.error === undefined || task.error === null ? null : toWire(task.error),
    interrupts: (task.interrupts ?? []).map((interrupt) => toWire(interrupt)),
    checkpoint: config?.configurable ? publicConfigurable(config.configurable) : null,
    state: nested,
    result: task.result === undefined ? null : toWire(task.result),
  };
}

function nestedState(snapshot: StateSnapshot): Omit<ThreadState, "interrupts"> {
  const { interrupts: _interrupts, ...state } = toThreadState(snapshot);
  return state;
}
