import { describe, expect, it } from "vitest";
import {
  handBackReason,
  handBackReasons,
  handBackRules,
  handBackWaitMs,
  handedBack,
  isExcused,
  judgeBlocked,
} from "./run-hand-back.ts";

describe("a run that is handed back", () => {
  it.each(["shutdown", "lease_ended", "neighbour_blocked", "suspected"] as const)(
    "%s: never counts",
    (reason) => {
      for (const excused of [0, 1, 3, 1_000]) expect(isExcused(reason, excused)).toBe(true);
      expect(handBackWaitMs(reason, 5)).toBe(0);
    },
  );
  it("blocked: counts from the first time on, and the next attempt is alone", () => {
    expect(isExcused("blocked", 0)).toBe(false);
    expect(handBackRules.blocked.alone).toBe(true);
  });
  it("database: at once the first time, later each time, and not for ever", () => {
    expect([0, 1, 2, 3].map((excused) => handBackWaitMs("database", excused))).toEqual([
      0, 1_000, 2_000, 4_000,
    ]);
    expect(handBackWaitMs("database", 19)).toBe(60_000);
    expect([19, 20].map((excused) => isExcused("database", excused))).toEqual([true, false]);
  });
  it("process_lost: counts, and the last attempt is alone", () => {
    const lostAt = (attempt: number, excused: number) =>
      handedBack({ run_id: "a", attempt, excused }, "process_lost");
    expect(lostAt(1, 0)).toEqual({ runId: "a", attempt: 1, excused: false, alone: null });
    expect(lostAt(2, 0)).toEqual({ runId: "a", attempt: 2, excused: false, alone: true });
    expect(lostAt(4, 3)).toMatchObject({ excused: false, alone: null });
  });
  it("has a rule for every reason", () => {
    expect(Object.keys(handBackRules)).toEqual([...handBackReasons]);
  });
});

describe("why", () => {
  it.each([
    ["shutdown", undefined, "shutdown"],
    ["shutdown", "database", "shutdown"],
    ["lease_ended", "database", "lease_ended"],
    ["database", "database", "database"],
    // The graph was being cancelled when the database went away: the process that resumes the run cancels it.
    ["interrupt", "database", "database"],
    [undefined, "database", "database"],
    // The process of the graph ended, alone with the run or not.
    [undefined, "worker_lost", "worker_lost"],
    [undefined, "neighbour_lost", "neighbour_lost"],
    ["interrupt", "worker_lost", undefined],
    // A defect: the lease runs out and the attempt counts.
    [undefined, undefined, undefined],
    ["lease_lost", "database", undefined],
  ] as const)("stopped by %s, trouble %s: %s", (stopped, trouble, reason) => {
    expect(handBackReason(stopped, trouble)).toBe(reason);
  });
});

describe("a blocked event loop", () => {
  it("is laid to the run whose code it stood in", () => {
    expect(judgeBlocked(["a", "b", "c"], "b")).toEqual(["neighbour_blocked", "blocked", "neighbour_blocked"]);
  });
  it("is laid to nobody where that is unknown, unless there is only one", () => {
    expect(judgeBlocked(["a", "b"], "")).toEqual(["suspected", "suspected"]);
    expect(judgeBlocked(["a", "b"], "another")).toEqual(["suspected", "suspected"]);
    expect(judgeBlocked(["a"], undefined)).toEqual(["blocked"]);
    expect(judgeBlocked([], "a")).toEqual([]);
  });
});
