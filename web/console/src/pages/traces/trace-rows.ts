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
  const children = new Map<string, Run[]>();
  for (const run of runs) {
    if (!run.parent_run_id || !ids.has(run.parent_run_id)) continue;
    const siblings = children.get(run.parent_run_id);
    if (siblings) siblings.push(run);
    else children.set(run.parent_run_id, [run]);
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
