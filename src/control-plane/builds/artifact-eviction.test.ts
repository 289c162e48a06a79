import { expect, test } from "vitest";
import { leastNeeded } from "./artifact-eviction.ts";

const hour = 3_600_000;
const one = (key: string, idleMs: number, use?: { bytes: number; runs: boolean }) => ({ key, idleMs, use });

test("nothing goes while there is room", () => {
  const kept = [one("a", hour, { bytes: 50, runs: false }), one("b", 0, { bytes: 50, runs: true })];
  expect(leastNeeded(kept, 100)).toEqual([]);
});

test("the longest unused go first, what runs and what was just asked for never", () => {
  const kept = [
    one("runs", 9 * hour, { bytes: 60, runs: true }),
    one("newer", hour, { bytes: 60, runs: false }),
    one("older", 2 * hour, { bytes: 60, runs: false }),
    one("now", 0, { bytes: 60, runs: false }),
  ];
  expect(leastNeeded(kept, 180)).toEqual(["older"]);
  expect(leastNeeded(kept, 0)).toEqual(["older", "newer"]);
});

test("what the database does not know goes, unless it is on its way", () => {
  expect(leastNeeded([one("gone", hour), one("coming", 1_000)], 100)).toEqual(["gone"]);
});
