import { expect, it } from "vitest";
import { BatchGroups } from "./batch-groups.ts";

const [slow, fast] = [5_000, 10];

/** A queue in which every group always has rows; those just taken come last. */
function queueOf(groups: BatchGroups) {
  let order = ["a", "b", "c", "d", "e"];
  return (): Set<string> => {
    const mayTake = groups.begin();
    const taken = new Set(order.filter((group) => mayTake(group)));
    groups.taken(taken);
    order = [...order.filter((group) => !taken.has(group)), ...taken];
    return taken;
  };
}
const named = (taken: Set<string>) => [...taken].sort().join("");

it("finds the slow one of many by halving, and writes it alone until it is fast", () => {
  const groups = new BatchGroups({ slowMs: 2_000, maxAlone: 3 });
  const take = queueOf(groups);
  const flush = () => {
    const taken = take();
    groups.ended(taken, taken.has("d") ? slow : fast);
    return named(taken);
  };
  const flushes = Array.from({ length: 12 }, flush);
  expect(flushes[0]).toBe("abcde");
  expect(flushes.slice(-2).sort()).toEqual(["abce", "d"]);
  const both = [take(), take()];
  expect(both.map(named).sort()).toEqual(["abce", "d"]);
  for (const taken of both) groups.ended(taken, fast);
  expect(named(take())).toBe("abcde");
});

it("still writes most groups together where all are slow", () => {
  const groups = new BatchGroups({ slowMs: 2_000, maxAlone: 1 });
  const take = queueOf(groups);
  for (let round = 0; round < 20; round++) groups.ended(take(), slow);
  expect([take().size, take().size].sort()).toEqual([1, 4]);
});

it("writes no more groups alone at once than it is told, so that the others have a lane", () => {
  const groups = new BatchGroups({ slowMs: 2_000, maxAlone: 2 });
  for (const group of ["a", "b", "c"]) groups.setAlone(group);
  const take = queueOf(groups);
  expect([take(), take(), take()].map(named)).toEqual(["a", "b", "de"]);
});
