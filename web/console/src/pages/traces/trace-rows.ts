import type { Run } from "./trace.ts";

export type TreeRow = {
  run: Run;
  depth: number;
  childCount: number;
  isOpen: boolean;
  /** Shares of the trace's time, 0 to 1. */
  left: number;
  width: number;
  tookMs: number;
};

/** The rows of a trace's tree in its order, without what is folded away. Runs come in the order of their dotted paths. */
export function treeRows(runs: readonly Run[], folded: ReadonlySet<string>, nowMs: number): TreeRow[] {
  if (runs.length === 0) return [];
  const ids = new Set(runs.map((run) => run.id));
  const attempts = attemptsOf(runs);
  const parentOf = (run: Run) => attemptOf(run, attempts)?.id ?? run.parent_run_id;
  const children = new Map<string, Run[]>();
  for (const run of runs) {
    const parent = parentOf(run);
    if (!parent || !ids.has(parent)) continue;
    const siblings = children.get(parent);
    if (siblings) siblings.push(run);
    else children.set(parent, [run]);
  }
  const startMs = Math.min(...runs.map((run) => Date.parse(run.start_time)));
  const endOf = (run: Run) => (run.end_time ? Date.parse(run.end_time) : nowMs);
  const wholeMs = Math.max(1, Math.max(...runs.map(endOf)) - startMs);
  const rows: TreeRow[] = [];
  const add = (run: Run, depth: number) => {
    const below = children.get(run.id) ?? [];
    const isOpen = !folded.has(run.id);
    const tookMs = Math.max(0, endOf(run) - Date.parse(run.start_time));
    const left = (Date.parse(run.start_time) - startMs) / wholeMs;
    rows.push({ run, depth, childCount: below.length, isOpen, left, width: tookMs / wholeMs, tookMs });
    if (isOpen) for (const child of below) add(child, depth + 1);
  };
  // A run whose parent has not come (yet) stands at the top.
  for (const run of runs) if (!run.parent_run_id || !ids.has(run.parent_run_id)) add(run, 0);
  return rows;
}

const attemptTag = "treadle:attempt";

/** The attempts at a run that was resumed, in their order; none at a run that one attempt did. */
function attemptsOf(runs: readonly Run[]): Run[] {
  return runs
    .filter(({ tags }) => tags?.includes(attemptTag))
    .sort((one, other) => Date.parse(one.start_time) - Date.parse(other.start_time));
}

/**
 * The attempt that a step belongs to. Steps of the first were written before anybody knew that it would be lost, and
 * the graph library knows of no attempts: such steps stand below the root, and are drawn where they belong.
 */
function attemptOf(run: Run, attempts: readonly Run[]): Run | undefined {
  const [first] = attempts;
  if (!first || run.parent_run_id !== first.parent_run_id || run.tags?.includes(attemptTag)) return undefined;
  const startMs = Date.parse(run.start_time);
  return attempts.findLast((attempt) => Date.parse(attempt.start_time) <= startMs) ?? first;
}

/** Steps that were at work when their attempt was lost never end by themselves: they ended with it. */
export function endLostSteps(runs: readonly Run[]): Run[] {
  const lost = attemptsOf(runs).filter(({ error, end_time }) => error && end_time);
  return runs.map((run) => {
    if (run.end_time || !run.parent_run_id || run.tags?.includes(attemptTag)) return run;
    const startMs = Date.parse(run.start_time);
    const attempt = lost.find(({ end_time }) => startMs <= Date.parse(end_time!));
    if (!attempt) return run;
    return { ...run, status: "error", error: attempt.error, end_time: attempt.end_time };
  });
}
