import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Quarantine } from "./quarantine.ts";

const never = new AbortController().signal;

describe("runs that were in a process when it ended", () => {
  let cleared: string[];
  let quarantine: Quarantine;
  let admitted: string[];

  beforeEach(() => {
    vi.useFakeTimers();
    cleared = [];
    admitted = [];
    quarantine = new Quarantine((runId) => cleared.push(runId));
    for (const runId of ["a", "b", "c"]) quarantine.add(runId);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const ask = (runId: string, signal = never) =>
    quarantine.turn(runId, signal).then(() => {
      admitted.push(runId);
    });
  const settle = () => vi.advanceTimersByTimeAsync(0);

  it("are tried one at a time, in order", async () => {
    for (const runId of ["a", "b", "c"]) void ask(runId);
    await settle();
    expect(admitted).toEqual(["a"]);
    quarantine.release("a");
    await settle();
    expect(admitted).toEqual(["a", "b"]);
    expect([quarantine.holds("a"), quarantine.holds("b")]).toEqual([false, true]);
  });

  it("let the next one in once they have run alone for a while", async () => {
    void ask("a");
    void ask("b");
    quarantine.begin("a");
    await vi.advanceTimersByTimeAsync(4_999);
    expect([admitted, cleared]).toEqual([["a"], []]);
    await vi.advanceTimersByTimeAsync(1);
    expect([admitted, cleared]).toEqual([["a", "b"], ["a"]]);
    expect(quarantine.holds("a")).toBe(false);
  });

  it("are still to be tried alone when their process ended again", async () => {
    void ask("a");
    void ask("b");
    quarantine.begin("a");
    quarantine.add("a");
    quarantine.giveUp("a");
    await settle();
    expect(admitted).toEqual(["a", "b"]);
    expect(quarantine.holds("a")).toBe(true);
    // The time of the first is over with it.
    await vi.advanceTimersByTimeAsync(10_000);
    expect(cleared).toEqual([]);
  });

  it("that are cancelled while they wait leave the queue, and one that was cancelled before does not join it", async () => {
    void ask("a");
    const cancel = new AbortController();
    const waiting = ask("b", cancel.signal);
    void ask("c");
    cancel.abort(new Error("cancelled"));
    await expect(waiting).rejects.toThrow("cancelled");
    await expect(ask("b", cancel.signal)).rejects.toThrow("cancelled");
    quarantine.release("a");
    await settle();
    expect(admitted).toEqual(["a", "c"]);
  });
});
