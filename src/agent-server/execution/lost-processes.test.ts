import { expect, it } from "vitest";
import { LostProcesses } from "./lost-processes.ts";

it("keeps the first line of how a run's process ended last, until it is asked for", () => {
  const lost = new LostProcesses();
  lost.note("one", "It exited with code 3.");
  lost.note("one", "It was killed.\nIts last lines");
  expect([lost.take("one"), lost.take("one")]).toEqual(["It was killed.", undefined]);
});

it("forgets the oldest", () => {
  const lost = new LostProcesses();
  for (let run = 0; run <= 200; run++) lost.note(`run-${run}`, "It ended.");
  expect([lost.take("run-0"), lost.take("run-1")]).toEqual([undefined, "It ended."]);
});
