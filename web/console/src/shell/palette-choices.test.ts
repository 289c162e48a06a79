import { expect, test } from "vitest";
import { choicesFor, step } from "./palette-choices.ts";

test("pages are found by a part of their name, before what the server found", () => {
  const found = [{ kind: "trace", id: "1", title: "a run", detail: "llm", path: "/o/x" } as const];
  expect(choicesFor("TRAC", found).map(({ title }) => title)).toEqual(["Traces", "a run"]);
  expect(choicesFor("zzz", [])).toEqual([]);
  expect(choicesFor("", []).length).toBeGreaterThan(7);
});

test("the arrow keys go round", () => {
  expect([step(0, -1, 3), step(2, 1, 3), step(0, 1, 3), step(0, 1, 0)]).toEqual([2, 0, 1, 0]);
});
