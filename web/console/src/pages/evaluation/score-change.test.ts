import { expect, it } from "vitest";
import { formatChange, formatScore, isSameValue, verdictOf } from "./score-change.ts";

it.each([
  [1, 0, false, "better"],
  [0, 1, false, "worse"],
  [0, 1, true, "better"],
  [2, 1, true, "worse"],
  [0.1 + 0.2, 0.3, false, "same"],
  [null, 1, false, null],
  [1, undefined, false, null],
] as const)("%s after %s, less is better: %s: %s", (score, baseline, lower, verdict) => {
  expect(verdictOf(score, baseline, lower)).toBe(verdict);
});

it("writes scores and changes briefly", () => {
  expect([1, 0.5, 2 / 3, 1234.5].map(formatScore)).toEqual(["1", "0.50", "0.67", "1,235"]);
  expect(formatChange(1, 0.75)).toBe("+0.25");
  expect(formatChange(0, 1)).toBe("-1");
  expect(formatChange(0.3, 0.1 + 0.2)).toBe("");
});

it("outputs are the same whatever the order of their fields", () => {
  expect(isSameValue({ a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 })).toBe(true);
  expect(isSameValue({ a: [1, 2] }, { a: [2, 1] })).toBe(false);
  expect(isSameValue(null, undefined)).toBe(true);
});
