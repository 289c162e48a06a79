import { beforeEach, describe, expect, it } from "vitest";
import {
  createFakeMonotonicClock,
  type FakeMonotonicClock,
} from "../../../tests/support/fake-monotonic-clock.ts";
import { WakeLoop } from "./wake-loop.ts";

let clock: FakeMonotonicClock;
let looks: number[];
let failures: number[];
let woken: boolean;
let answer: () => Promise<number | null>;

beforeEach(() => {
  clock = createFakeMonotonicClock();
  looks = [];
  failures = [];
  answer = async () => null;
});

function createLoop(heartbeatMs: number | null = 10_000, onIdle = () => {}) {
  return new WakeLoop({
    clock,
    onIdle,
    rules: { heartbeatMs },
    onFailure: (_error, waitMs) => failures.push(waitMs),
    look(by) {
      woken = by;
      looks.push(clock.now() - 1_000);
      return answer();
    },
  });
}

describe("looks", () => {
  it("when it is woken, and otherwise at its heartbeat alone", async () => {
    const loop = createLoop();
    loop.wake();
    await clock.advance(25_000);
    expect(looks).toEqual([0, 10_000, 20_000]);
    loop.wake();
    await clock.advance(9_999);
    expect(looks).toEqual([0, 10_000, 20_000, 25_000, 30_000]);
  });

  it("at the heartbeat that is right after each look, where it changes", async () => {
    let heartbeatMs = 10_000;
    const loop = new WakeLoop({
      clock,
      heartbeatMs: () => heartbeatMs,
      onFailure: () => undefined,
      look: async () => {
        looks.push(clock.now() - 1_000);
        return null;
      },
    });
    loop.wake();
    await clock.advance(10_000);
    heartbeatMs = 30_000;
    await clock.advance(50_000);
    heartbeatMs = 5_000;
    await clock.advance(10_000);
    expect(looks).toEqual([0, 10_000, 20_000, 50_000]);
    loop.beat();
    await clock.advance(10_000);
    expect(looks.slice(4)).toEqual([70_000, 75_000, 80_000]);
    await loop.stop();
  });

  it("by itself at its heartbeat, however often it is woken", async () => {
    const own: number[] = [];
    answer = async () => {
      if (!woken) own.push(clock.now() - 1_000);
      return null;
    };
    await clock.advance(60_000);
    const loop = createLoop();
    loop.wake();
    for (let n = 0; n < 35; n += 1) {
      await clock.advance(1_000);
      loop.wake();
    }
    expect(own).toEqual([70_000, 80_000, 90_000]);
  });

  it("when something is due, by the time it was told", async () => {
    const waits = [700, null];
    answer = async () => waits.shift() ?? null;
    createLoop().wake();
    await clock.advance(1_000);
    expect(looks).toEqual([0, 700]);
  });

  it("once more after a wake-up that came during a look, however many came", async () => {
    const first = Promise.withResolvers<number | null>();
    answer = () => first.promise;
    const loop = createLoop();
    loop.wake();
    await clock.advance(0);
    for (let n = 0; n < 5; n += 1) loop.wake();
    answer = async () => null;
    first.resolve(5_000);
    await clock.advance(0);
    expect(looks).toEqual([0, 0]);
    expect(clock.nextIn()).toBe(10_000);
  });

  it("again for a wake-up at any moment around the end of a look", async () => {
    for (let steps = 0; steps < 12; steps += 1) {
      looks = [];
      const end = Promise.withResolvers<number | null>();
      answer = () => end.promise;
      const loop = createLoop(null);
      loop.wake();
      await clock.advance(0);
      end.resolve(null);
      for (let step = 0; step < steps; step += 1) await Promise.resolve();
      loop.wake();
      await clock.advance(0);
      expect({ steps, looks: looks.length }).toEqual({ steps, looks: 2 });
    }
  });

  it("never twice at once", async () => {
    let under = 0;
    let most = 0;
    answer = async () => {
      under += 1;
      most = Math.max(most, under);
      await Promise.resolve();
      under -= 1;
      return 1;
    };
    const loop = createLoop();
    for (let n = 0; n < 20; n += 1) {
      loop.wake();
      await clock.advance(30);
    }
    expect(most).toBe(1);
    expect(looks.length).toBeGreaterThan(10);
  });

  it("not at all by itself without a heartbeat and with nothing due", async () => {
    const idle: number[] = [];
    const loop = createLoop(null, () => idle.push(clock.now()));
    loop.wake();
    await clock.advance(86_400_000);
    expect(looks).toEqual([0]);
    expect(idle).toEqual([1_000]);
  });
});

describe("while the database is away", () => {
  it("tries again with longer and longer pauses and takes up its rhythm when it is back", async () => {
    answer = () => Promise.reject(new Error("away"));
    createLoop().wake();
    await clock.advance(1_600);
    expect(failures).toEqual([100, 200, 400, 800, 1_600]);
    answer = async () => null;
    await clock.advance(1_600);
    expect(clock.nextIn()).toBeGreaterThan(8_000);
    answer = () => Promise.reject(new Error("away"));
    failures = [];
    await clock.advance(10_000);
    expect(failures[0]).toBe(100);
  });

  it("does not spin on wake-ups that come while a look fails", async () => {
    let loop: WakeLoop | undefined;
    answer = async () => {
      loop?.wake();
      throw new Error("away");
    };
    loop = createLoop();
    loop.wake();
    await clock.advance(99);
    expect(looks).toEqual([0]);
  });

  it("looks at once when it is woken between two tries: the connection may just be back", async () => {
    answer = () => Promise.reject(new Error("away"));
    const loop = createLoop();
    loop.wake();
    await clock.advance(50);
    answer = async () => null;
    loop.wake();
    await clock.advance(0);
    expect(looks).toEqual([0, 50]);
  });
});

describe("a stop", () => {
  it("waits for the look under way and begins no other, whoever wakes it", async () => {
    const under = Promise.withResolvers<number | null>();
    answer = () => under.promise;
    const loop = createLoop();
    loop.wake();
    await clock.advance(0);
    let stopped = false;
    const stopping = loop.stop().then(() => {
      stopped = true;
    });
    loop.wake();
    await clock.advance(1_000);
    expect(stopped).toBe(false);
    under.resolve(0);
    await stopping;
    loop.wake();
    await clock.advance(100_000);
    expect(looks).toEqual([0]);
  });
});
