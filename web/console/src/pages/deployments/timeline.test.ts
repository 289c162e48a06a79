import { describe, expect, it } from "vitest";
import type { RevisionEvent } from "./deployment-api.ts";
import { phasesOf, stepsOf } from "./timeline.ts";

/** A status per second, from noon. */
function moves(...statuses: RevisionEvent["status"][]) {
  return statuses.map((status, index) => ({
    id: index,
    kind: status ? "status" : "build",
    status,
    message: status ?? "a step",
    created_at: new Date(Date.UTC(2030, 0, 1, 12, 0, index)).toISOString(),
  }));
}

function phases(...statuses: RevisionEvent["status"][]) {
  const status = statuses.findLast((each) => each !== null) ?? "CREATING";
  return phasesOf({ status, events: moves(...statuses) }).map(({ name, state, ms }) => [name, state, ms]);
}

describe("the phases of a revision", () => {
  it("one that has just begun", () => {
    expect(phases("CREATING")).toEqual([
      ["Queue", "going", null],
      ["Build", "waiting", null],
      ["Deploy", "waiting", null],
    ]);
  });

  it("one that is being built", () => {
    expect(phases("CREATING", "AWAITING_BUILD", "BUILDING", null)).toEqual([
      ["Queue", "done", 2_000],
      ["Build", "going", null],
      ["Deploy", "waiting", null],
    ]);
  });

  it("one that serves", () => {
    expect(phases("CREATING", "BUILDING", null, "AWAITING_DEPLOY", "DEPLOYING", "DEPLOYED")).toEqual([
      ["Queue", "done", 1_000],
      ["Build", "done", 2_000],
      ["Deploy", "done", 2_000],
    ]);
  });

  it("one whose build failed: the rest was never reached", () => {
    expect(phases("CREATING", "BUILDING", "BUILD_FAILED")).toEqual([
      ["Queue", "done", 1_000],
      ["Build", "failed", 1_000],
      ["Deploy", "unreached", null],
    ]);
  });

  it("a roll-back, which builds nothing", () => {
    expect(phases("CREATING", "AWAITING_DEPLOY", "DEPLOYING", "DEPLOYED")).toEqual([
      ["Queue", "done", 1_000],
      ["Build", "left-out", null],
      ["Deploy", "done", 2_000],
    ]);
  });
});

describe("the steps", () => {
  it("each took until the next; the last one is not over", () => {
    expect(stepsOf(moves("CREATING", null, "BUILDING")).map(({ ms }) => ms)).toEqual([1_000, 1_000, null]);
  });
});
