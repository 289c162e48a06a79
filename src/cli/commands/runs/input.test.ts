import { expect, test } from "vitest";
import { parseInput, parseResume } from "./input.ts";

test("a text is a message, a JSON object is the whole input", () => {
  expect(parseInput("Hello")).toEqual({ messages: [{ role: "user", content: "Hello" }] });
  expect(parseInput(' {"n": 1}')).toEqual({ n: 1 });
  expect(() => parseInput("{nonsense")).toThrow("--input starts like a JSON object but is none");
});

test("an answer is JSON where it can be read as JSON, and else the text itself", () => {
  expect(parseResume('{"approved": true}')).toEqual({ approved: true });
  expect(parseResume("true")).toBe(true);
  expect(parseResume("yes, go on")).toBe("yes, go on");
  expect(parseResume("{nonsense")).toBe("{nonsense");
});
