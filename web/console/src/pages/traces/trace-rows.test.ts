import { expect, it } from "vitest";
import type { Run } from "./trace.ts";
import { endLostSteps, treeRows } from "./trace-rows.ts";

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

it("steps that a library traced stand below the attempt they ran in, and those of a lost one ended with it", () => {
  const run = (id: string, start: number, end: number | null, more: Partial<Run> = {}) =>
    ({
      id,
      parent_run_id: id === "root" ? null : "root",
      start_time: `2026-01-01T00:00:0${start}Z`,
      end_time: end === null ? null : `2026-01-01T00:00:0${end}Z`,
      ...more,
    }) as Run;
  const tags = ["treadle:attempt"];
  const runs = [
    run("root", 0, null),
    run("first", 0, 4, { tags, error: "Attempt 1 ended" }),
    run("one", 1, 2),
    run("lost", 2, null, { status: "pending" }),
    run("second", 4, null, { tags }),
    run("again", 5, null, { status: "pending" }),
  ];
  expect(treeRows(runs, new Set(), 0).map(({ run: { id }, depth }) => `${id}${depth}`)).toEqual([
    "root0",
    "first1",
    "one2",
    "lost2",
    "second1",
    "again2",
  ]);
  const ended = endLostSteps(runs).filter((each, index) => each !== runs[index]);
  expect(ended).toMatchObject([
    { id: "lost", status: "error", error: "Attempt 1 ended", end_time: "2026-01-01T00:00:04Z" },
  ]);
});
