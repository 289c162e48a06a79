import { expect, it } from "vitest";
import { type Exit, exitKinds, exitOf, exitText, isInnocent, outOfMemory, ownEnds } from "./exit.ts";

it.each<[Exit, string]>([
  [{ kind: "exit_code", detail: "9" }, "exit code 9"],
  [{ kind: "signal", detail: "SIGSEGV" }, "signal SIGSEGV"],
  [outOfMemory(400 * 1024 * 1024), "out of memory: its limit is 400 MB."],
  [outOfMemory(null), "out of memory: the machine had no more."],
  [{ kind: "not_started", detail: "no such file" }, "it could not be started: no such file"],
])("%j reads as %j", (exit, text) => {
  expect(exitText(exit)).toContain(text);
});

it("every kind has words of its own", () => {
  const words = exitKinds.map((kind) => exitText({ kind, detail: "1" }));
  expect(new Set(words).size).toBe(exitKinds.length);
});

it("what was asked for, and what happened while the platform was away, is nobody's fault", () => {
  expect(exitKinds.filter(isInnocent)).toEqual(["stopped", "lost"]);
  for (const kind of ["stopped", "lost", "port_taken"]) expect(ownEnds).not.toContain(kind);
  expect(isInnocent(null)).toBe(false);
});

it("a server that has not ended has no end", () => {
  expect(exitOf({ exit_kind: null, exit_detail: null })).toBeNull();
  expect(exitOf({ exit_kind: "lost", exit_detail: null })).toEqual({ kind: "lost", detail: null });
});
