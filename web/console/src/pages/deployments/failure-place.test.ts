import { expect, it } from "vitest";
import { hasMore, placeOf } from "./failure-place.ts";

it("names file, line and column as far as they are known", () => {
  expect(placeOf({ file: "a.ts", line: 1, column: 2 })).toBe("a.ts:1:2");
  expect(placeOf({ file: "a.py", line: 1, column: null })).toBe("a.py:1");
  expect(placeOf({ file: "a.ts", line: null, column: null })).toBe("a.ts");
  expect(placeOf({ file: null, line: null, column: null })).toBeNull();
});

it("does not print a single line twice", () => {
  expect(hasMore({ reason: "wrong", output: ["a.ts: wrong"] })).toBe(false);
  expect(hasMore({ reason: "wrong", output: ["something else"] })).toBe(true);
  expect(hasMore({ reason: "wrong", output: ["one", "two"] })).toBe(true);
  expect(hasMore({ reason: "wrong", output: [] })).toBe(false);
});
