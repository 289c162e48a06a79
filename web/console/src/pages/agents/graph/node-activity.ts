import type { ThreadState } from "../agent-api.ts";

/** What a node did in a run. */
export type NodeFigures = {
  /** How many of its tasks are active. */
  running: number;
  times: number;
  /** Null as long as it is not known. */
  ms: number | null;
  tokens: number;
  failed: boolean;
  /** It asked a person, and waits. */
  waits: boolean;
};

export type GraphActivity = {
  /** By the node's id in the drawing: `outer:inner` for one in a subgraph. */
  nodes: ReadonlyMap<string, NodeFigures>;
  open: ReadonlyMap<string, OpenTask>;
};

/** `counted`: the messages it was given, whose tokens other nodes have used. */
type OpenTask = { sinceMs: number; counted: ReadonlySet<string> };

export const noActivity: GraphActivity = { nodes: new Map(), open: new Map() };
const atRest: NodeFigures = { running: 0, times: 0, ms: null, tokens: 0, failed: false, waits: false };

type TaskEvent = {
  id: string;
  name: string;
  input?: unknown;
  result?: unknown;
  error?: unknown;
  interrupts?: unknown[];
};

/** What came from the log in one go says nothing about how long it took. */
const replayedMs = 4;

/** One event of a run's stream, applied: `tasks`, or `tasks|tools:…` in a subgraph. */
export function withTask(activity: GraphActivity, name: string, data: unknown, nowMs: number): GraphActivity {
  const [mode, ...segments] = name.split("|");
  const task = data as TaskEvent | null;
  if (mode !== "tasks" || typeof task?.id !== "string" || typeof task.name !== "string") return activity;
  const id = [...segments.map((segment) => segment.slice(0, segment.lastIndexOf(":"))), task.name].join(":");
  const known = activity.nodes.get(id) ?? atRest;
  const open = new Map(activity.open);
  if (!("result" in task || "error" in task)) {
    open.set(task.id, { sinceMs: nowMs, counted: paidMessages(task.input) });
    const figures = { ...known, running: known.running + 1, waits: false };
    return { open, nodes: new Map(activity.nodes).set(id, figures) };
  }
  const begun = open.get(task.id);
  open.delete(task.id);
  const took = begun && nowMs - begun.sinceMs >= replayedMs ? nowMs - begun.sinceMs : null;
  const figures: NodeFigures = {
    running: Math.max(0, known.running - 1),
    times: known.times + 1,
    ms: sum(known.ms, took),
    tokens: known.tokens + tokensIn(task.result, begun?.counted),
    failed: known.failed || Boolean(task.error),
    waits: (task.interrupts?.length ?? 0) > 0,
  };
  return { open, nodes: new Map(activity.nodes).set(id, figures) };
}

/** The same from what a run left in the history, newest first: the time of a step is that between two checkpoints. */
export function activityOf(states: readonly ThreadState[], runId: unknown): GraphActivity {
  const nodes = new Map<string, NodeFigures>();
  const later = new Map<string, ThreadState>();
  // Another run may have answered what this one asked.
  const continued = new Set(states.map((state) => state.parent_checkpoint?.checkpoint_id));
  for (const state of states) {
    if (state.metadata?.run_id !== runId) continue;
    const after = later.get(state.checkpoint.checkpoint_id);
    const counted = paidMessages(state.values);
    for (const task of state.tasks) {
      const asked = task.interrupts.length > 0;
      const waits = asked && !continued.has(state.checkpoint.checkpoint_id);
      if (task.name === "__start__" || (!after && !asked && !task.error)) continue;
      const known = nodes.get(task.name) ?? atRest;
      nodes.set(task.name, {
        running: 0,
        times: known.times + 1,
        ms: after ? sum(known.ms, span(state.created_at, after.created_at)) : known.ms,
        tokens: known.tokens + tokensIn(task.result, counted),
        failed: known.failed || Boolean(task.error),
        waits: known.waits || waits,
      });
    }
    if (state.parent_checkpoint) later.set(state.parent_checkpoint.checkpoint_id, state);
  }
  return { nodes, open: new Map() };
}

/** The same for a running run: what comes next after its last checkpoint is what runs now. */
export function activityUnderWay(states: readonly ThreadState[], runId: string): GraphActivity {
  const settled = activityOf(states, runId);
  const [newest] = states;
  if (newest?.metadata?.run_id !== runId) return settled;
  const nodes = new Map(settled.nodes);
  for (const name of newest.next.filter((each) => each !== "__start__")) {
    const known = nodes.get(name) ?? atRest;
    nodes.set(name, { ...known, running: known.running + 1, waits: false });
  }
  return { nodes, open: settled.open };
}

/** What was seen live knows the subgraphs; what the history has is complete for the graph itself. */
export function joinedActivity(live: GraphActivity, history: GraphActivity): GraphActivity {
  return { nodes: new Map([...live.nodes, ...history.nodes]), open: live.open };
}

/** A node that failed or asks at the checkpoint itself: a run that went no further left nothing else there. */
export function withStanding(activity: GraphActivity, tasks: ThreadState["tasks"]): GraphActivity {
  const standing = tasks.filter(({ error, interrupts }) => error || interrupts.length > 0);
  if (standing.length === 0) return activity;
  const nodes = new Map(activity.nodes);
  for (const { name, error, interrupts } of standing) {
    const known = nodes.get(name) ?? atRest;
    nodes.set(name, { ...known, failed: Boolean(error), waits: interrupts.length > 0 });
  }
  return { nodes, open: activity.open };
}

function span(from: string | null | undefined, to: string | null | undefined): number | null {
  return from && to ? Math.max(0, Date.parse(to) - Date.parse(from)) : null;
}

const sum = (before: number | null, more: number | null) => (before === null ? more : before + (more ?? 0));

type Usage = { total_tokens?: number; input_tokens?: number; output_tokens?: number };
type Paid = { id?: unknown; usage_metadata: Usage };

/**
 * All tokens of the messages a node returned, in any of its fields. A subgraph returns its whole state: messages that
 * were in it before are not counted again.
 */
export function tokensIn(result: unknown, counted: ReadonlySet<string> = new Set()): number {
  let total = 0;
  eachPaid(result, ({ id, usage_metadata: usage }) => {
    if (typeof id === "string" && counted.has(id)) return;
    total += usage.total_tokens ?? (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);
  });
  return total;
}

function paidMessages(value: unknown): Set<string> {
  const ids = new Set<string>();
  eachPaid(value, ({ id }) => {
    if (typeof id === "string") ids.add(id);
  });
  return ids;
}

function eachPaid(value: unknown, visit: (message: Paid) => void, depth = 0): void {
  if (value === null || typeof value !== "object" || depth > 5) return;
  if ((value as Partial<Paid>).usage_metadata) visit(value as Paid);
  else for (const part of Object.values(value)) eachPaid(part, visit, depth + 1);
}
