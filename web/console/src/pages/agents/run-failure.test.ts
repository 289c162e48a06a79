import { expect, it } from "vitest";
import { failureWords } from "./run-failure.ts";

it("says what a run failed with, however it is told", () => {
  expect(failureWords({ error: "Error", message: "The thread broke." })).toBe("The thread broke.");
  expect(failureWords({ error: "ValueError", message: "no" })).toBe("ValueError: no");
  expect(failureWords({ error: "ValueError", message: "no", at: "graph.py:27" })).toBe(
    "ValueError: no\ngraph.py:27",
  );
  expect(failureWords({ name: "TypeError", message: "x is undefined" })).toBe("TypeError: x is undefined");
  expect(failureWords("ValueError('no')")).toBe("ValueError('no')");
  expect(failureWords(new Error("refused"))).toBe("refused");
  expect(failureWords(null)).toBe("The run failed.");
});
