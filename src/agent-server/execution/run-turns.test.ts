import { expect, test } from "vitest";
import { isTurnOf } from "./run-turns.ts";

test("each announcement is the turn of one process, and of each as often", () => {
  const takers = ["a", "b", "c"];
  const turns = Array.from({ length: 6 }, (_, turn) => takers.filter((id) => isTurnOf(id, turn, takers)));
  expect(turns).toEqual([["a"], ["b"], ["c"], ["a"], ["b"], ["c"]]);
});

test("a process that is alone, or that the others do not know yet, is always asked", () => {
  expect([0, 1, 2].every((turn) => isTurnOf("a", turn, ["a"]))).toBe(true);
  expect([0, 1, 2].every((turn) => isTurnOf("new", turn, ["a", "b"]))).toBe(true);
});
