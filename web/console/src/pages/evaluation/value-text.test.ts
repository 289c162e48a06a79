import { expect, it } from "vitest";
import { valueText } from "./value-text.ts";

it.each([
  [null, ""],
  ["a\n b", "a b"],
  [{ question: "why?" }, "why?"],
  [{ n: 3 }, "3"],
  [{ messages: [{ content: "first" }, { role: "user", content: "last" }] }, "last"],
  [{ messages: [{ content: [{ type: "text", text: "x" }] }] }, '[{"type":"text","text":"x"}]'],
  [{ a: 1, b: 2 }, '{"a":1,"b":2}'],
  [[1, 2], "[1,2]"],
  [{ only: { deep: 1 } }, '{"only":{"deep":1}}'],
])("%j reads %j", (value, text) => {
  expect(valueText(value)).toBe(text);
});

it("is cut where nobody reads on", () => {
  expect(valueText("x".repeat(1_000))).toHaveLength(401);
});
