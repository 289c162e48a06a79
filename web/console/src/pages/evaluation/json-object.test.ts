import { expect, it } from "vitest";
import { readObject, writeObject } from "./json-object.ts";

it("reads objects, and nothing where it may be left out", () => {
  expect(readObject('{"a": [1]}')).toEqual({ value: { a: [1] } });
  expect(readObject(" ", { optional: true })).toEqual({ value: null });
  expect(readObject(" ")).toEqual({ problem: expect.stringContaining("JSON object") });
});

it.each(["[1]", "3", "null", '"text"'])("refuses %s, which is no object", (text) => {
  expect(readObject(text)).toEqual({ problem: expect.stringContaining("must be a JSON object") });
});

it("says what is wrong with what is no JSON", () => {
  expect(readObject('{"a": }')).toEqual({ problem: expect.stringMatching(/^This is not valid JSON\. .+/) });
});

it("writes what it reads", () => {
  const value = { a: { b: "c" } };
  expect(readObject(writeObject(value))).toEqual({ value });
  expect(writeObject(null)).toBe("");
});
