/** A checkpoint's place in the tree of branches, newest first, as lines beside a list are drawn. */
export type BranchRow = {
  lane: number;
  /** Nothing follows it: the end of a branch. */
  tip: boolean;
  /** Whether something comes before it, which is drawn below, or would be if it were loaded. */
  continues: boolean;
  /** Lanes of branches that begin at it, and end here. */
  forks: readonly number[];
  /** Lanes that pass by. */
  through: readonly number[];
};

export type TreeItem = { id: string; parent: string | null };

export function branchRows(items: readonly TreeItem[]): { rows: BranchRow[]; lanes: number } {
  /** What each lane waits for. */
  const awaited: (string | null)[] = [];
  let lanes = 0;
  const rows = items.map(({ id, parent }): BranchRow => {
    const mine = awaited.flatMap((waits, lane) => (waits === id ? [lane] : []));
    const lane = mine[0] ?? freeLane(awaited);
    const forks = mine.slice(1);
    for (const fork of forks) awaited[fork] = null;
    const through = awaited.flatMap((waits, other) => (waits !== null && other !== lane ? [other] : []));
    awaited[lane] = parent;
    lanes = Math.max(lanes, awaited.length);
    return { lane, tip: mine.length === 0, continues: parent !== null, forks, through };
  });
  return { rows, lanes };
}

function freeLane(awaited: readonly (string | null)[]): number {
  const free = awaited.indexOf(null);
  return free === -1 ? awaited.length : free;
}
