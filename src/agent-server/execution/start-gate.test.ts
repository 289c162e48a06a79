import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { StartGate } from "./start-gate.ts";

/** Enters as many times as asked and notes who is let in. */
function enterMany(gate: StartGate, count: number): number[] {
  const begun: number[] = [];
  for (let index = 0; index < count; index += 1) void gate.enter().then(() => begun.push(index));
  return begun;
}

describe("the gate for beginning runs", () => {
  it("lets everybody in at once while nobody listens", async () => {
    const begun = enterMany(new StartGate(() => false), 5);
    await Promise.resolve();
    expect(begun).toEqual([0, 1, 2, 3, 4]);
  });

  it("lets one in per turn of the event loop while somebody listens, in the order they came", async () => {
    const begun = enterMany(new StartGate(() => true), 4);
    const perTurn: number[] = [];
    while (begun.length < 4) {
      const before = begun.length;
      await nextTurn();
      perTurn.push(begun.length - before);
    }
    expect(begun).toEqual([0, 1, 2, 3]);
    expect(Math.max(...perTurn)).toBe(1);
  });

  it("lets the rest in together once nobody listens any more", async () => {
    let heard = true;
    const gate = new StartGate(() => heard);
    const begun = enterMany(gate, 50);
    await nextTurn();
    heard = false;
    const late = enterMany(gate, 1);
    await nextTurn();
    await nextTurn();
    expect(begun).toHaveLength(50);
    expect(late).toEqual([0]);
  });
});
