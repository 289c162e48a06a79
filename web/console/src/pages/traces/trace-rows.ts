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
  const firstAttempt = firstAttemptOf(runs);
  const parentOf = (run: Run) =>
    firstAttempt && ranIn(firstAttempt, run) ? firstAttempt.id : run.parent_run_id;
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

/**
 * The attempt that began a run which another resumed. Its steps were written before anybody knew that it would be
 * lost, below the root: they are drawn where they belong.
 */
function firstAttemptOf(runs: readonly Run[]): Run | undefined {
  const attempts = runs.filter(({ tags }) => tags?.includes(attemptTag));
  return attempts.reduce<Run | undefined>(
    (first, each) => (first && first.start_time <= each.start_time ? first : each),
    undefined,
  );
}

function ranIn(attempt: Run, run: Run): boolean {
  if (run.parent_run_id !== attempt.parent_run_id || run.tags?.includes(attemptTag)) return false;
  return attempt.end_time != null && Date.parse(run.start_time) <= Date.parse(attempt.end_time);
}
