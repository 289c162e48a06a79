type Listed = { id: string; start_time: string };

/**
 * The newest page on top of a list that is ordered newest first. Only the rows that page can have are looked at: a list
 * of ten thousand is merged at every page that is added to its end.
 *
 * `gap`: more came than one page holds, so what lies between is not known.
 */
export function mergeHead<Row extends Listed>(
  rows: readonly Row[],
  head: readonly Row[],
  pageSize: number,
): { rows: readonly Row[]; gap: boolean } {
  const [newest] = rows;
  const oldest = head.at(-1);
  if (!oldest) return { rows, gap: false };
  if (!newest) return { rows: head, gap: false };
  const older = rows.findIndex(({ start_time }) => start_time < oldest.start_time);
  const reached = older < 0 ? rows.length : older;
  const fresh = new Map(head.map((run) => [run.id, run]));
  const known = rows.slice(0, reached).map((run) => fresh.get(run.id) ?? run);
  const ids = new Set(known.map(({ id }) => id));
  const added = head.filter((run) => !ids.has(run.id) && run.start_time >= newest.start_time);
  return { rows: [...added, ...known, ...rows.slice(reached)], gap: added.length >= pageSize };
}
