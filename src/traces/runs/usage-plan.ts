import {
  passesOn,
  rollUp,
  type Share,
  type Spender,
  type SpenderChange,
  spenderKey,
} from "../usage/usage-rollup.ts";
import { noSum, totalsOf, type UsageSum } from "../usage/usage-sum.ts";
import { sameUsage, type UsageVector } from "../usage/usage-vector.ts";
import type { MergedRun, RunKey } from "./stored-run.ts";

/** A stored run whose totals change because of runs below it. */
export type RaisedRun = RunKey & { startTime: string; below: UsageSum; totals: UsageVector };

export type SpendingPlan = { raised: RaisedRun[]; shares: Share[] };

/** What a run that is about to be written passes on to its parent. */
export function passedOn(run: MergedRun): UsageSum {
  return passesOn(spenderOf(run, run.below ?? noSum));
}

function spenderOf(run: MergedRun, below: UsageSum): Spender {
  return {
    id: run.id,
    workspaceId: run.workspace_id,
    parentId: run.parent_run_id,
    runType: run.run_type,
    usage: run.usage,
    below,
  };
}

/**
 * Adds up what new runs of one write spent among themselves. Returns the stored runs that this concerns as well, which
 * must be locked before the rest can be computed; none in the usual case that whole traces come at once.
 */
export function planNewSpending(runs: readonly MergedRun[]): RunKey[] {
  const fresh = new Map<string, SpenderChange>();
  const concerned: RunKey[] = [];
  for (const run of runs) {
    const { stored } = run;
    if (stored === null) {
      const after = spenderOf(run, noSum);
      fresh.set(spenderKey(after), { before: null, after });
    } else if (spendsOtherwise(run, stored)) {
      const { workspace_id: workspaceId } = run;
      concerned.push({ id: run.id, workspaceId });
      for (const id of [run.parent_run_id, stored.parent_run_id])
        if (id !== null) concerned.push({ id, workspaceId });
    }
  }
  const left = rollUp(fresh);
  for (const run of runs) {
    const change = fresh.get(run.workspace_id + run.id);
    if (change) run.below = change.after.below;
  }
  return [...concerned, ...left.map(({ id, workspaceId }) => ({ id, workspaceId }))];
}

function spendsOtherwise(run: MergedRun, stored: NonNullable<MergedRun["stored"]>): boolean {
  return (
    !sameUsage(run.usage, stored.usage) ||
    run.parent_run_id !== stored.parent_run_id ||
    (run.usage !== null && (run.run_type === "llm") !== (stored.run_type === "llm"))
  );
}

/** The whole of it, once the stored runs are held. Sets `below` of the runs that are written. */
export function planSpending(
  runs: readonly MergedRun[],
  held: readonly (Spender & { startTime: string })[],
  arrived: readonly Share[] = [],
): SpendingPlan {
  const changes = new Map<string, SpenderChange>();
  for (const before of held) changes.set(spenderKey(before), { before, after: { ...before } });
  const written = new Map<string, MergedRun>();
  for (const run of runs) {
    const key = run.workspace_id + run.id;
    const before = changes.get(key)?.before ?? null;
    // A stored run that is not held spends what it spent before.
    if (run.stored !== null && before === null) continue;
    changes.set(key, { before, after: spenderOf(run, before?.below ?? noSum) });
    written.set(key, run);
  }
  const shares = rollUp(changes, arrived);
  for (const [key, run] of written) run.below = changes.get(key)!.after.below;
  const raised = held.flatMap((before) => {
    const key = spenderKey(before);
    const { after } = changes.get(key)!;
    if (written.has(key) || after.below === before.below) return [];
    const { id, workspaceId, startTime } = before;
    return [{ id, workspaceId, startTime, below: after.below, totals: totalsOf(passesOn(after)) }];
  });
  return { raised, shares };
}
