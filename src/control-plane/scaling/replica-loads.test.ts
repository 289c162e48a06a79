import { expect, it } from "vitest";
import { type Heard, ReplicaLoads } from "./replica-loads.ts";

const said = (atMs: number, cpuSeconds: number, memoryBytes = 50_000_000) => ({
  ...{ atMs, report: { cpuSeconds, memoryBytes, pendingRuns: 0, runningRuns: 0 } },
});

it("counts processor time from report to report, each by the time when it arrived", () => {
  const loads = new ReplicaLoads();
  const cpus = (heard: Record<string, ReturnType<typeof said> | null>) =>
    loads.read(new Map(Object.entries(heard))).map((load) => load.cpus);
  expect(cpus({ a: said(0, 10), b: said(1_500, 20) })).toEqual([null, null]);
  expect(cpus({ a: said(4_000, 12), b: said(4_500, 21.5) })).toEqual([0.5, 0.5]);
  // Its counter was reset; the other one is silent.
  expect(cpus({ a: said(8_000, 1), b: null })).toEqual([null, null]);
  expect(cpus({ a: said(12_000, 2), b: said(12_000, 30) })).toEqual([0.25, null]);
});

it("does not count processor time over moments: a look may follow another at once", () => {
  const loads = new ReplicaLoads();
  const cpus = (atMs: number, cpuSeconds: number) =>
    loads.read(new Map([["a", said(atMs, cpuSeconds)]]))[0]!.cpus;
  expect(cpus(0, 1)).toBeNull();
  expect(cpus(3, 1.2)).toBeNull();
  expect(cpus(2_000, 2)).toBe(0.5);
  // What is known still holds, and the time continues from there.
  expect(cpus(2_005, 2.4)).toBe(0.5);
  expect(cpus(4_000, 2.5)).toBe(0.25);
});

it("remembers the least memory of each replica while it is ready", () => {
  const loads = new ReplicaLoads();
  const memory = (given: Record<string, number | null>) => {
    const heard = new Map<string, Heard>();
    for (const [name, bytes] of Object.entries(given))
      heard.set(name, bytes === null ? null : said(0, 1, bytes));
    return loads.read(heard).map((load) => load.memory && [load.memory.usedBytes, load.memory.baseBytes]);
  };
  expect(memory({ a: 60, b: 90 })).toEqual([
    [60, 60],
    [90, 90],
  ]);
  expect(memory({ a: 80, b: 70 })).toEqual([
    [80, 60],
    [70, 70],
  ]);
  expect(memory({ a: null, b: 95 })).toEqual([null, [95, 70]]);
  expect(memory({ a: 85 })).toEqual([[85, 60]]);
  // It was not ready in between.
  expect(memory({ a: 85, b: 95 })).toEqual([
    [85, 60],
    [95, 95],
  ]);
});
