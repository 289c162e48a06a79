import type { RootSpan } from "../../run-storage.ts";
import type { PlacedRow } from "./run-table.ts";

const maxDepth = 500;

export type LinkPlan = {
  /** Runs that stand at another place of their trace. */
  moved: PlacedRow[];
  /** Roots that runs were put right below. */
  parents: string[];
};

/**
 * Pure: where the runs of these traces stand, when those that knew their root by its span only are put below it. Those that hang below
 * it already stay where they are, and need not be given unless others hang below them.
 */
export function planLinks(rows: readonly PlacedRow[], roots: readonly RootSpan[]): LinkPlan {
  const spans = new Map(roots.map((root) => [root.traceId, root.spanRunId]));
  const parents = new Set<string>();
  const linked = rows.map((row) => {
    const parent = row.parent_run_ids.at(-1);
    if (parent === undefined || spans.get(row.trace_id) !== parent) return row;
    parents.add(row.trace_id);
    return { ...row, parent_run_ids: [...row.parent_run_ids.slice(0, -1), row.trace_id] };
  });
  const placeOf = (trace: string, id: string | undefined) => `${trace} ${id}`;
  const children = Map.groupBy(linked, (row) => placeOf(row.trace_id, row.parent_run_ids.at(-1)));
  const placed = new Map(linked.map((row) => [row.id, row]));
  const open = rows.flatMap((row) => {
    if (row.id === row.trace_id) return [{ ...row, parent_run_ids: [] as string[] }];
    return row.parent_run_ids[0] === row.trace_id ? [row] : [];
  });
  for (let row = open.pop(); row; row = open.pop()) {
    placed.set(row.id, row);
    const above = [...row.parent_run_ids, row.id];
    if (above.length > maxDepth) continue;
    for (const child of children.get(placeOf(row.trace_id, row.id)) ?? []) {
      if (above.includes(child.id)) continue;
      const own = child.dotted_order.slice(child.dotted_order.lastIndexOf(".") + 1);
      open.push({ ...child, parent_run_ids: above, dotted_order: `${row.dotted_order}.${own}` });
    }
  }
  const before = new Map(rows.map((row) => [row.id, row]));
  const moved = [...placed.values()].filter((row) => !isSamePlace(row, before.get(row.id)!));
  return { moved, parents: [...parents] };
}

function isSamePlace(one: PlacedRow, other: PlacedRow): boolean {
  return one.dotted_order === other.dotted_order && one.parent_run_ids.join() === other.parent_run_ids.join();
}
