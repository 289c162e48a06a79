import { describe, expect, it } from "vitest";
import { chooseReplicas, type Load, type Need, neededReplicas, recentNeeds } from "./scaling-rule.ts";

const replica = (cpus: number | null, usedBytes: number | null, baseBytes = 0) => ({
  ...{ name: "p", cpus, memory: usedBytes === null ? null : { usedBytes, baseBytes } },
});
const load = (more: Partial<Load>): Load => ({
  replicas: [replica(0.1, 10)],
  pendingRuns: 0,
  limits: { cpus: 1, memoryBytes: 100 },
  ...more,
});

describe("how many replicas a load needs", () => {
  it.each<[string, Partial<Load>, number, number]>([
    ["little use", {}, 3, 1],
    ["three quarters of the processor time", { replicas: [replica(0.75, 10)] }, 1, 1],
    ["more than three quarters of it", { replicas: [replica(0.76, 10)] }, 1, 2],
    ["all of it, by two", { replicas: [replica(1, 10), replica(1, 10)] }, 2, 3],
    ["more than three quarters of the memory", { replicas: [replica(0.1, 80)] }, 1, 2],
    ["memory that it needs without a load", { replicas: [replica(0.1, 80, 80)] }, 1, 1],
    ["much of it, by two", { replicas: [replica(0.1, 60, 60), replica(0.1, 60, 60)] }, 2, 1],
    ["memory that a load needs, above the rest", { replicas: [replica(0.1, 76, 60)] }, 1, 2],
    ["half of what a load may take, by three", { replicas: Array(3).fill(replica(0.1, 50, 25)) }, 3, 2],
    ["ten runs that wait", { pendingRuns: 10 }, 1, 1],
    ["eleven runs that wait", { pendingRuns: 11 }, 1, 2],
    ["the most of all wins", { replicas: [replica(1.6, 80)], pendingRuns: 45 }, 1, 5],
    ["no limits", { replicas: [replica(8, 1e12)], limits: { cpus: null, memoryBytes: null } }, 1, 1],
    ["a replica that says nothing", { replicas: [replica(0.1, 10), replica(null, null)] }, 2, 2],
    ["runs that cannot be counted", { pendingRuns: null }, 3, 3],
    ["something not known, and much to do", { pendingRuns: 60, replicas: [replica(null, 10)] }, 2, 6],
  ])("%s", (_what, given, current, needed) => {
    expect(neededReplicas(load(given), current)).toBe(needed);
  });
});

describe("how many there are to be", () => {
  const bounds = { min: 1, max: 5 };
  const keepMs = 300_000;
  const at = (atMs: number, replicas: number) => ({ atMs, replicas });
  const chosen = (needs: Need[], nowMs: number, within = bounds) =>
    chooseReplicas(recentNeeds(needs, nowMs, keepMs), within);

  it("grows at once, up to the most there may be", () => {
    expect(chosen([at(0, 1), at(1_000, 4)], 1_000)).toBe(4);
    expect(chosen([at(0, 1), at(1_000, 40)], 1_000)).toBe(5);
  });

  it("shrinks when more were not needed for five minutes, down to the fewest there must be", () => {
    const needs = [at(0, 4), at(60_000, 2), at(keepMs, 1)];
    expect(chosen(needs, keepMs)).toBe(4);
    expect(chosen(needs, keepMs + 1)).toBe(2);
    expect(chosen(needs, keepMs + 60_001)).toBe(1);
    expect(chosen(needs, keepMs + 60_001, { min: 2, max: 5 })).toBe(2);
  });
});
