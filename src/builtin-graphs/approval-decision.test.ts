import { expect, test } from "vitest";
import { readDecision } from "./approval-decision.ts";

test.each([
  true,
  "yes",
  "Approve",
  "ok, go",
  { approved: true },
  { type: "approve" },
  { decisions: [{ type: "approve" }] },
])("%j is a yes", (answer) => expect(readDecision(answer).approved).toBe(true));

test.each([
  false,
  null,
  undefined,
  0,
  "",
  "no",
  "maybe",
  {},
  [],
  { type: "ignore" },
  { type: "edit" },
  { decisions: [] },
])("%j is a no", (answer) => expect(readDecision(answer).approved).toBe(false));

test("what else the person said is kept as a note", () => {
  expect(readDecision("not before Friday").note).toBe("not before Friday");
  expect(readDecision({ type: "reject", reason: "too risky" }).note).toBe("too risky");
  expect(readDecision("no").note).toBeUndefined();
});

test("an edit carries the new arguments", () => {
  const edit = { type: "edit", edited_action: { name: "x", args: { action: "less" } } };
  expect(readDecision(edit)).toEqual({ approved: true, note: undefined, editedArgs: { action: "less" } });
});
