import type { ThreadState } from "../agent-api.ts";

/** What a node did in a run. */
export type NodeFigures = {
  /** How many of its tasks are under way. */
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
  open: ReadonlyMap<string, number>;
};

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
    open.set(task.id, nowMs);
    const figures = { ...known, running: known.running + 1, waits: false };
    return { open, nodes: new Map(activity.nodes).set(id, figures) };
  }
  const since = open.get(task.id);
  open.delete(task.id);
  const took = since === undefined || nowMs - since < replayedMs ? null : nowMs - since;
  const figures: NodeFigures = {
    running: Math.max(0, known.running - 1),
    times: known.times + 1,
    ms: sum(known.ms, took),
    tokens: known.tokens + tokensIn(task.result),
    failed: known.failed || Boolean(task.error),
    waits: (task.interrupts?.length ?? 0) > 0,
  };
  return { open, nodes: new Map(activity.nodes).set(id, figures) };
}

/** The same from what a run left in the history, newest first: the time of a step is that between two checkpoints. */
export function activityOf(states: readonly ThreadState[], runId: unknown): GraphActivity {
  const nodes = new Map<string, NodeFigures>();
  const later = new Map<string, ThreadState>();
  for (const state of states) {
    if (state.metadata?.run_id !== runId) continue;
    const after = later.get(state.checkpoint.checkpoint_id);
    for (const task of state.tasks) {
      const waits = task.interrupts.length > 0;
      if (task.name === "__start__" || (!after && !waits && !task.error)) continue;
      const known = nodes.get(task.name) ?? atRest;
      nodes.set(task.name, {
        running: 0,
        times: known.times + 1,
        ms: after ? sum(known.ms, span(state.created_at, after.created_at)) : known.ms,
        tokens: known.tokens + tokensIn(task.result),
        failed: known.failed || Boolean(task.error),
        waits: known.waits || waits,
      });
    }
    if (state.parent_checkpoint) later.set(state.parent_checkpoint.checkpoint_id, state);
  }
  return { nodes, open: new Map() };
}

/** What was seen live knows the subgraphs; what the history has is complete for the graph itself. */
export function joinedActivity(history: GraphActivity, live: GraphActivity): GraphActivity {
  return { nodes: new Map([...history.nodes, ...live.nodes]), open: live.open };
}

function span(from: string | null | undefined, to: string | null | undefined): number | null {
  return from && to ? Math.max(0, Date.parse(to) - Date.parse(from)) : null;
}

const sum = (before: number | null, more: number | null) => (before === null ? more : before + (more ?? 0));

type Usage = { total_tokens?: number; input_tokens?: number; output_tokens?: number };

/** All tokens of the messages a node returned, wherever it put them. */
export function tokensIn(result: unknown, depth = 0): number {
  if (result === null || typeof result !== "object" || depth > 5) return 0;
  const usage = (result as { usage_metadata?: Usage | null }).usage_metadata;
  if (usage) return usage.total_tokens ?? (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);
  return Object.values(result).reduce((total: number, part) => total + tokensIn(part, depth + 1), 0);
}
