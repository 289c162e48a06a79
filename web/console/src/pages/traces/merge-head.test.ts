import { expect, it } from "vitest";
import { mergeHead } from "./merge-head.ts";

const run = (number: number, words = "") => ({
  id: `run ${number}`,
  start_time: new Date(number * 1_000).toISOString(),
  words,
});
const range = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, at) => run(from - at));

it("puts what is new on top, and what has changed in its place", () => {
  const rows = range(9, 0);
  const head = [run(11), run(10), run(9, "changed"), run(8)];
  const merged = mergeHead(rows, head, 100);
  expect(merged.gap).toBe(false);
  expect(merged.rows.map(({ id }) => id)).toEqual(range(11, 0).map(({ id }) => id));
  expect(merged.rows[2]).toEqual(run(9, "changed"));
  expect(merged.rows.slice(4)).toEqual(rows.slice(2));
});

it("leaves what the newest page cannot have as it is, without looking at it", () => {
  const rows = range(5_000, 0);
  let read = 0;
  const watched = rows.map((row) => ({
    ...row,
    get start_time() {
      read += 1;
      return row.start_time;
    },
  }));
  expect(mergeHead(watched, range(5_000, 4_901), 100).rows).toHaveLength(rows.length);
  expect(read).toBeLessThan(300);
});

it("is the one where the other is empty", () => {
  const rows = range(3, 0);
  expect(mergeHead(rows, [], 100)).toEqual({ rows, gap: false });
  expect(mergeHead([], rows, 100)).toEqual({ rows, gap: false });
});

it("keeps runs of one and the same time, and those that are gone from the newest page", () => {
  const same = (id: string) => ({ id, start_time: run(5).start_time });
  expect(mergeHead([same("a"), same("b")], [same("b"), same("a"), same("c")], 100).rows).toEqual([
    same("c"),
    same("a"),
    same("b"),
  ]);
  expect(mergeHead(range(5, 0), [run(5), run(3)], 100).rows).toEqual(range(5, 0));
});

it("says that more came than a page holds", () => {
  expect(mergeHead(range(9, 0), range(30, 21), 10).gap).toBe(true);
  expect(mergeHead(range(9, 0), range(18, 9), 10).gap).toBe(false);
});
