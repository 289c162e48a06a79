import { expect, it } from "vitest";
import { RenewalTurns } from "./renewal-turns.ts";

const start = new Date("2026-01-01T12:00:00Z");
const after = (ms: number) => new Date(start.getTime() + ms);

it("gives a few turns at once, and the next ones as they come back", () => {
  const turns = new RenewalTurns({ atOnce: 2, patienceMs: 1_000 });
  expect(["a", "b", "c"].map((id) => turns.take(id, start))).toEqual([true, true, false]);
  expect(turns.take("a", start)).toBe(true);
  expect(turns.giveBack("c")).toBe(false);
  expect(turns.giveBack("a")).toBe(true);
  expect(turns.take("c", start)).toBe(true);
});

it("takes a turn away from one that does not come to an end", () => {
  const turns = new RenewalTurns({ atOnce: 1, patienceMs: 1_000 });
  turns.take("stuck", start);
  expect(turns.take("next", after(999))).toBe(false);
  expect(turns.take("next", after(1_000))).toBe(true);
  expect(turns.take("stuck", after(1_000))).toBe(false);
});
