import { expect, it } from "vitest";
import type { Run } from "./trace.ts";
import { treeRows } from "./trace-rows.ts";

it("a tree has every run once, also those whose parent is missing", () => {
  const run = (id: string, parent: string | null, second: number) =>
    ({
      id,
      parent_run_id: parent,
      start_time: `2026-01-01T00:00:0${second}Z`,
      end_time: `2026-01-01T00:00:0${second + 1}Z`,
    }) as Run;
  const runs = [run("a", null, 0), run("b", "a", 1), run("c", "b", 2), run("d", "gone", 3)];
  const shape = (folded: string[]) =>
    treeRows(runs, new Set(folded), 0).map(({ run: { id }, depth }) => `${id}${depth}`);
  expect(shape([])).toEqual(["a0", "b1", "c2", "d0"]);
  expect(shape(["a"])).toEqual(["a0", "d0"]);
  const [, second] = treeRows(runs, new Set(), 0);
  expect(second).toMatchObject({ left: 0.25, width: 0.25, tookMs: 1_000, childCount: 1 });
});

it("steps of an attempt that was lost stand below it, beside the attempt that went on", () => {
  const run = (id: string, parent: string | null, start: number, end: number, tags: string[] = []) =>
    ({
      id,
      parent_run_id: parent,
      start_time: `2026-01-01T00:00:0${start}Z`,
      end_time: `2026-01-01T00:00:0${end}Z`,
      tags,
    }) as Run;
  const runs = [
    run("root", null, 0, 9),
    run("first", "root", 0, 4, ["treadle:attempt"]),
    run("one", "root", 1, 2),
    run("inner", "one", 1, 2),
    run("second", "root", 4, 9, ["treadle:attempt"]),
    run("two", "second", 5, 8),
  ];
  expect(treeRows(runs, new Set(), 0).map(({ run: { id }, depth }) => `${id}${depth}`)).toEqual([
    "root0",
    "first1",
    "one2",
    "inner3",
    "second1",
    "two2",
  ]);
});
