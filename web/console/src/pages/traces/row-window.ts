/** Rows beyond each end of what is seen: they are there when the browser scrolls before this page knows of it. */
const beyond = 4;

/**
 * The rows to have in the page, from `start` to before `end`. `slots`: as many as there ever are at once, for rows that
 * leave to become rows that come.
 */
export function rowWindow({
  first,
  room,
  count,
  height,
}: {
  /** The first that is seen, even in part. */
  first: number;
  /** Of what is seen, in pixels like the height of a row. */
  room: number;
  count: number;
  height: number;
}): { start: number; end: number; slots: number } {
  const seen = Math.ceil(room / height) + 1;
  const end = Math.min(count, first + seen + beyond);
  return { start: Math.max(0, Math.min(first - beyond, end)), end, slots: seen + 2 * beyond };
}
