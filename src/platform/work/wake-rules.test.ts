import { describe, expect, it } from "vitest";
import { defaultWakeRules, isBeatDue, waitAfterFailure, waitAfterLook } from "./wake-rules.ts";

const rules = { ...defaultWakeRules, heartbeatMs: 30_000, minWaitMs: 50 };

describe("after a look", () => {
  it.each([
    ["nothing is due: the heartbeat", null, 30_000],
    ["something is due: then", 1_234, 1_234],
    ["something is due after the heartbeat: the heartbeat", 90_000, 30_000],
    ["something was due and somebody else has it: soon, not at once", -500, 50],
  ])("%s", (_, dueInMs, waitMs) => {
    expect(waitAfterLook(dueInMs, rules)).toBe(waitMs);
  });

  it("counts the heartbeat from the last look of its own", () => {
    expect(waitAfterLook(null, rules, 12_000)).toBe(18_000);
    expect(waitAfterLook(20_000, rules, 12_000)).toBe(18_000);
    expect(waitAfterLook(null, rules, 31_000)).toBe(0);
    expect([29_999, 30_000].map((since) => isBeatDue(since, rules))).toEqual([false, true]);
  });

  it("without a heartbeat it sleeps until it is woken, or for an hour at most", () => {
    const own = { ...rules, heartbeatMs: null };
    expect(waitAfterLook(null, own)).toBeNull();
    expect(waitAfterLook(10 ** 12, own)).toBe(3_600_000);
    expect(isBeatDue(Number.POSITIVE_INFINITY, own)).toBe(false);
  });
});

it("failures in a row wait twice as long each, up to a limit", () => {
  const waits = [1, 2, 3, 4, 20].map((failures) => waitAfterFailure(failures, rules));
  expect(waits).toEqual([100, 200, 400, 800, 5_000]);
});
