import { expect, it } from "vitest";
import { afterMiss, lostAfterMs, nextCheckAt, recheckMs } from "./domain-recheck.ts";

const now = new Date("2026-01-02T00:00:00Z");
const before = (ms: number) => new Date(now.getTime() - ms);

it("spreads the next checks around six hours", () => {
  const hours = [0, 0.5, 1].map(
    (random) => (nextCheckAt(now, random).getTime() - now.getTime()) / (60 * 60_000),
  );
  expect(hours).toEqual([4.5, 6, 7.5]);
});

it("is lost only after four checks and a day without the proof", () => {
  const since = (missed_checks: number, missing_since: Date | null) =>
    afterMiss({ missed_checks, missing_since }, now).isLost;
  expect(since(0, null)).toBe(false);
  expect(since(3, before(lostAfterMs))).toBe(true);
  expect(since(2, before(lostAfterMs))).toBe(false);
  expect(since(9, before(lostAfterMs - 1))).toBe(false);
});

it("is lost within two days when no check finds the proof, at any spread", () => {
  for (const random of [0, 0.5, 1]) {
    let at = now;
    let domain = { missed_checks: 0, missing_since: null as Date | null };
    for (;;) {
      const { missedChecks, missingSince, isLost } = afterMiss(domain, at);
      if (isLost) break;
      domain = { missed_checks: missedChecks, missing_since: missingSince };
      at = nextCheckAt(at, random);
    }
    const tookMs = at.getTime() - now.getTime();
    expect([tookMs >= lostAfterMs, tookMs <= lostAfterMs + 1.25 * recheckMs]).toEqual([true, true]);
  }
});
