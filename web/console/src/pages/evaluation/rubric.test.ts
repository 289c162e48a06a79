import { expect, it } from "vitest";
import { nextKey, readKeys, rubricKeys } from "./rubric.ts";

it("has the keys of a queue's rubric", () => {
  expect(rubricKeys([{ feedback_key: "a" }, { other: 1 }, null, { feedback_key: "b" }])).toEqual(["a", "b"]);
  expect(rubricKeys(null)).toEqual([]);
});

it("reads keys as they are typed", () => {
  expect(readKeys(" correct, polite,,correct ")).toEqual(["correct", "polite"]);
  expect(readKeys(" ")).toEqual([]);
});

it("a thumb goes to the first key without one, then to the last", () => {
  expect(nextKey(["a", "b"], {})).toBe("a");
  expect(nextKey(["a", "b"], { a: 0 })).toBe("b");
  expect(nextKey(["a", "b"], { a: 0, b: 1 })).toBe("b");
});
