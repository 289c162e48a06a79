import { addSums, isNothing, negative, noSum, sumOf, type UsageSum } from "./usage-sum.ts";
import type { UsageVector } from "./usage-vector.ts";

/** A run as far as tokens and costs are concerned. */
export type Spender = {
  id: string;
  workspaceId: string;
  parentId: string | null;
  runType: string;
  /** What it reports for itself. */
  usage: UsageVector | null;
  /** What the runs right below it have passed on to it. */
  below: UsageSum;
};

/** A run before and after this write; `before` is null for a new one. */
export type SpenderChange = { before: Spender | null; after: Spender };

/** What a run adds to its parent. */
export type Share = { id: string; workspaceId: string; usage: UsageSum };

export function spenderKey(run: { id: string; workspaceId: string }): string {
  return run.workspaceId + run.id;
}

/** A model call that reports for itself already counts what it is made of. */
export function passesOn({ runType, usage, below }: Spender): UsageSum {
  const own = sumOf(usage);
  return runType === "llm" && usage !== null ? own : addSums(own, below);
}

/**
 * Takes every run's change to the run right above it, from the leaves up, and answers what is left for parents that
 * are not among these runs. A run's total depends on what it spent and on what its children passed on, each counted
 * once: in which order they came, and with how many others, makes no difference. Changes `after.below`.
 */
export function rollUp(runs: ReadonlyMap<string, SpenderChange>, arrived: readonly Share[] = []): Share[] {
  const waiting = new Map<string, UsageSum>();
  const left = new Map<string, Share>();
  const done = new Set<string>();
  const give = (workspaceId: string, id: string | null, usage: UsageSum) => {
    if (id === null || isNothing(usage)) return;
    const key = workspaceId + id;
    // Runs that are each other's parents: what came round is dropped.
    if (done.has(key)) return;
    if (runs.has(key)) {
      waiting.set(key, addSums(waiting.get(key) ?? noSum, usage));
      return;
    }
    left.set(key, { id, workspaceId, usage: addSums(left.get(key)?.usage ?? noSum, usage) });
  };
  for (const { id, workspaceId, usage } of arrived) give(workspaceId, id, usage);
  for (const { before, after } of runs.values()) {
    if (before && before.parentId !== after.parentId)
      give(before.workspaceId, before.parentId, negative(passesOn(before)));
  }
  for (const key of leavesFirst(runs)) {
    const { before, after } = runs.get(key)!;
    const came = waiting.get(key);
    if (came) after.below = addSums(after.below, came);
    done.add(key);
    const stays = before && before.parentId === after.parentId;
    const now = passesOn(after);
    give(after.workspaceId, after.parentId, stays ? addSums(now, negative(passesOn(before))) : now);
  }
  return [...left.values()]
    .filter((share) => !isNothing(share.usage))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** The keys by how many of these runs stand above them, the most first. */
function leavesFirst(runs: ReadonlyMap<string, SpenderChange>): string[] {
  const depths = new Map<string, number>();
  for (const start of runs.keys()) {
    const path: string[] = [];
    const onPath = new Set<string>();
    let key = start;
    for (let run = runs.get(key); run && !depths.has(key) && !onPath.has(key); run = runs.get(key)) {
      path.push(key);
      onPath.add(key);
      if (run.after.parentId === null) break;
      key = run.after.workspaceId + run.after.parentId;
    }
    const above = path.at(-1) === key ? -1 : (depths.get(key) ?? -1);
    for (const [index, each] of path.toReversed().entries()) depths.set(each, above + 1 + index);
  }
  return [...depths.keys()].sort((one, other) => depths.get(other)! - depths.get(one)!);
}
