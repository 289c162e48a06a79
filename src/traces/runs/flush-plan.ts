import type { PriceOf } from "../usage/model-prices.ts";
import { mergeRun, startOf } from "./merge-run.ts";
import { readParkedPatch, writeParkedPatch } from "./parked-patch.ts";
import type { RunChange } from "./run-change.ts";
import type { FoundRun, MergedRun, RunKey, RunSearch } from "./stored-run.ts";
import { planNewSpending } from "./usage-plan.ts";

/** Everything that waits to be written for one run, oldest first. */
export type QueuedRun = { id: string; workspaceId: string; changes: RunChange[]; bytes: number };

/** What to look up before a flush. A run that is new claims its id for the time it begins at. */
export function searchesFor(rows: readonly QueuedRun[]): RunSearch[] {
  return rows.map((row) => {
    const claim = startOf(row.changes);
    return { id: row.id, workspaceId: row.workspaceId, ...(claim !== undefined && { claim }) };
  });
}

/** What a flush changes. */
export type RunWrites = {
  runs: readonly MergedRun[];
  /** Patches to keep until their run comes. */
  park: readonly (RunKey & { patch: string })[];
  /** Kept patches that `runs` now contain. */
  unpark: readonly (RunKey & { lastSeq: number })[];
  /** Runs that begin at another time than their id was stored under. */
  moved: readonly (RunKey & { startTime: string })[];
};

export type FlushPlan = RunWrites & {
  insertsOnly: boolean;
  /** Changes of runs that stand in another project than their sender may write to. */
  refused: ReadonlySet<RunChange>;
  /** Parents to look up before the plan is whole. */
  missingParents: RunSearch[];
  /** Stored runs whose tokens and costs change: they must be held, then the rest of the sums is worked out. */
  spenders: RunKey[];
  /** Runs for which tokens and costs of runs below them may be waiting. */
  mayBeAwaited: RunKey[];
};

/** Pure: what one flush writes, from what waits and what is stored. */
export function planFlush(
  rows: readonly QueuedRun[],
  found: readonly FoundRun[],
  priceOf: PriceOf,
  parents?: readonly FoundRun[],
): FlushPlan {
  const stored = new Map<string, FoundRun>();
  for (const row of found) {
    const key = row.workspace_id + row.id;
    if (row.run || !stored.has(key)) stored.set(key, row);
  }
  const orders = new Map<string, string>();
  for (const each of [...found, ...(parents ?? [])]) {
    if (each.run) orders.set(each.workspace_id + each.id, each.run.dotted_order);
  }
  const plan = {
    park: [] as { id: string; workspaceId: string; patch: string }[],
    unpark: [] as { id: string; workspaceId: string; lastSeq: number }[],
    missingParents: [] as RunSearch[],
    moved: [] as { id: string; workspaceId: string; startTime: string }[],
  };
  const merged = new Map<string, MergedRun>();
  const refused = new Set<RunChange>();
  let touchesStored = false;
  for (const queued of rows) {
    const key = queued.workspaceId + queued.id;
    const existing = stored.get(key);
    const stands = existing?.run?.project_id ?? existing?.project_elsewhere;
    const admitted = admittedBy(stands ?? projectOfNew(queued.changes));
    let row = queued;
    if (!queued.changes.every(admitted)) {
      row = { ...queued, changes: queued.changes.filter(admitted) };
      for (const change of queued.changes) if (!admitted(change)) refused.add(change);
      if (row.changes.length === 0) continue;
    }
    const kept = existing?.patches?.map(readParkedPatch).filter(admitted) ?? [];
    const hasPost = row.changes.some((change) => change.kind === "post");
    if (!existing?.run && !hasPost && startOf(row.changes) === undefined) {
      plan.park.push(
        ...row.changes.map((change) => ({
          id: row.id,
          workspaceId: row.workspaceId,
          patch: writeParkedPatch(change),
        })),
      );
      continue;
    }
    // The run was made before its patches: they come after its post, whenever they were received.
    const isFirst = hasPost || row.changes.every((change) => change.isEarlier);
    const changes = isFirst ? [...row.changes, ...kept] : [...kept, ...row.changes];
    if (existing?.patches)
      plan.unpark.push({ id: row.id, workspaceId: row.workspaceId, lastSeq: existing.last_seq! });
    touchesStored ||= existing !== undefined;
    const run = mergeRun(existing?.run ?? null, changes, {
      parentOrder(parentId) {
        const parentKey = row.workspaceId + parentId;
        const order = merged.get(parentKey)?.dotted_order ?? orders.get(parentKey);
        if (order === undefined && !parents)
          plan.missingParents.push({ id: parentId, workspaceId: row.workspaceId });
        return order;
      },
      priceOf,
    });
    merged.set(key, run);
    const claimed = existing?.stands_at ?? startOf(row.changes);
    if (claimed !== run.start_time)
      plan.moved.push({ id: row.id, workspaceId: row.workspaceId, startTime: run.start_time });
  }
  const runs = [...merged.values()];
  const spenders = planNewSpending(runs);
  const mayBeAwaited = runs
    .filter((run) => run.stored === null || stored.get(run.workspace_id + run.id)?.has_usage)
    .map((run) => ({ id: run.id, workspaceId: run.workspace_id }));
  const insertsOnly =
    !touchesStored && spenders.length === 0 && plan.park.length === 0 && plan.moved.length === 0;
  return { ...plan, runs, spenders, mayBeAwaited, insertsOnly, refused };
}

/** The project a run is made in by these changes; undefined while none of them names it. */
function projectOfNew(changes: readonly RunChange[]): string | undefined {
  return changes.find((change) => change.projectId !== undefined)?.projectId;
}

const admittedBy =
  (projectId: string | undefined) =>
  ({ onlyProjectId }: RunChange): boolean =>
    onlyProjectId === undefined || projectId === undefined || projectId === onlyProjectId;
