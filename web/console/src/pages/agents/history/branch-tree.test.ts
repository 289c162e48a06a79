import { expect, it } from "vitest";
import { branchRows } from "./branch-tree.ts";

const items = (...pairs: string[]) =>
  pairs.map((pair) => ({ id: pair[0]!, parent: pair[1] === undefined ? null : pair[1] }));

it("one branch is one line", () => {
  const { rows, lanes } = branchRows(items("cb", "ba", "a"));
  expect(lanes).toBe(1);
  expect(rows.map(({ lane, tip, continues }) => [lane, tip, continues])).toEqual([
    [0, true, true],
    [0, false, true],
    [0, false, false],
  ]);
});

it("a branch has a line of its own, which ends where it began", () => {
  // d and c both follow b.
  const { rows, lanes } = branchRows(items("db", "cb", "ba", "a"));
  expect(lanes).toBe(2);
  expect(rows[1]).toEqual({ lane: 1, tip: true, continues: true, forks: [], through: [0] });
  expect(rows[2]).toEqual({ lane: 0, tip: false, continues: true, forks: [1], through: [] });
});

it("lanes are used again", () => {
  const { lanes } = branchRows(items("ed", "fd", "db", "cb", "ba", "a"));
  expect(lanes).toBe(2);
});

it("what is not loaded yet goes on below", () => {
  expect(branchRows(items("cb")).rows[0]!.continues).toBe(true);
  expect(branchRows([])).toEqual({ rows: [], lanes: 0 });
});
