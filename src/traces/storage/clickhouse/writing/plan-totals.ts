import type { Sql } from "../../../../platform/db/database.ts";
import type { MergedRun, RunKey } from "../../../runs/stored-run.ts";
import { planSpending } from "../../../runs/usage-plan.ts";
import { passesOn, type Share } from "../../../usage/usage-rollup.ts";
import { addSums, isNothing, negative, noSum, type UsageSum } from "../../../usage/usage-sum.ts";
import { type KnownRuns, keyOf, keyOfRow } from "./known-runs.ts";
import { monthOf, type SpendingRow, spenderOf, type WrittenRow, wireTime, withBelow } from "./run-row.ts";
import type { RunTable } from "./run-table.ts";
import { findWaiting } from "./waiting-store.ts";

export type TotalsPlan = {
  /** Stored runs that spend otherwise because of runs below them. */
  raised: WrittenRow[];
  /** Runs whose totals are right with this write, though they might not have been before. */
  settled: RunKey[];
  /** Runs that must be noted before the write, since it does not make their totals right, or not for certain. */
  open: RunKey[];
};

export type TotalsContext = {
  tx: Sql;
  table: RunTable;
  known: KnownRuns;
  /** Stored runs that spend otherwise, and parents of runs that do. */
  spenders: readonly RunKey[];
  /** Runs whose totals may lack what runs below them spent, whether they are stored or about to be. */
  awaited: readonly RunKey[];
};

/**
 * Works out what `runs` and all above them spend. Sets `below` of `runs`.
 *
 * A parent's share is a difference to what was stored before, and is written together with the run it comes from: what is stored in
 * one month is stored all or none, so a repeated write finds both or neither. Where that is not so, because the parent is not stored
 * yet or stands in another month, it is noted in PostgreSQL beforehand. What a noted run has from below is added up anew from the
 * runs themselves, however often that is done.
 */
export async function planTotals(context: TotalsContext, runs: readonly MergedRun[]): Promise<TotalsPlan> {
  const { known, tx, table } = context;
  if (context.spenders.length === 0 && context.awaited.length === 0)
    return { raised: [], settled: [], open: acrossMonths(runs, []) };
  const asked = new Set(context.awaited.map(keyOf));
  // What waits for a run that is new goes on to those above it, which no stored row names yet.
  const above = runs
    .filter((run) => asked.has(keyOf(keyOfRow(run))))
    .flatMap((run) => run.parent_run_ids.map((id) => ({ id, workspaceId: run.workspace_id })));
  const held = await known.chain([...context.spenders, ...context.awaited, ...above]);
  const others = held.map(keyOfRow).filter((key) => !asked.has(keyOf(key)));
  const waiting = await findWaiting(tx, others);
  const settled = [...context.awaited, ...waiting.filter((each) => each.is_awaited)];
  const arrived =
    settled.length === 0 ? [] : missingShares(settled, known, await table.findChildren(settled));
  const spending = planSpending(
    runs,
    held.map((row) => ({ ...spenderOf(row), startTime: wireTime(row.start_time) })),
    arrived,
  );
  const raised = spending.raised.map((each) => withBelow(known.get(each)!, each.below));
  return { raised, settled, open: [...spending.shares, ...acrossMonths(runs, raised)] };
}

/** What runs have from those right below them, as far as they do not have it yet. */
function missingShares(keys: readonly RunKey[], known: KnownRuns, children: readonly SpendingRow[]): Share[] {
  const sums = new Map<string, UsageSum>();
  for (const row of children) {
    const child = spenderOf(row);
    const parent = keyOf({ id: child.parentId!, workspaceId: row.workspace_id });
    sums.set(parent, addSums(sums.get(parent) ?? noSum, passesOn(child)));
  }
  return keys.map((key) => {
    const stored = known.get(key);
    const had = stored ? spenderOf(stored).below : noSum;
    return { ...key, usage: addSums(sums.get(keyOf(key)) ?? noSum, negative(had)) };
  });
}

/** Runs whose totals are written apart from the runs they come from. */
function acrossMonths(runs: readonly MergedRun[], raised: readonly WrittenRow[]): RunKey[] {
  const months = new Set([...runs, ...raised].map(monthOf));
  if (months.size < 2) return [];
  const spending = runs.filter((run) => run.below !== null && !isNothing(run.below));
  return [...spending, ...raised].map(keyOfRow);
}
