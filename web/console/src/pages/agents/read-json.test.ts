import { expect, it } from "vitest";
import { jsonOrText, readJson } from "./read-json.ts";

it("JSON is read, and what is not JSON is told apart from null", () => {
  expect(readJson('{"a": 1}')).toEqual({ a: 1 });
  expect(readJson("null")).toBeNull();
  expect(readJson("{a")).toBeUndefined();
});

it("words stay words", () => {
  expect(jsonOrText("yes, please")).toBe("yes, please");
  expect(jsonOrText("true")).toBe(true);
});
