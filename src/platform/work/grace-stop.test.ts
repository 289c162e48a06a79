import { describe, expect, it } from "vitest";
import { createFakeMonotonicClock } from "../../../tests/support/fake-monotonic-clock.ts";
import { type GraceStopOptions, graceStop } from "./grace-stop.ts";

/** Work that ends when a test says so, or when it is aborted and listens. */
function createWorker() {
  const clock = createFakeMonotonicClock();
  const log: string[] = [];
  const running = new Map<string, PromiseWithResolvers<void>>();
  const deaf = new Set<string>();
  const begin = (name: string, options: { deaf?: boolean } = {}) => {
    if (options.deaf) deaf.add(name);
    running.set(name, Promise.withResolvers<void>());
  };
  const end = (name: string) => {
    running.get(name)!.resolve();
    running.delete(name);
    log.push(`${name} ended at ${clock.now() - 1_000}`);
  };
  const stop = (more: Partial<GraceStopOptions> = {}) =>
    graceStop({
      clock,
      graceMs: 10_000,
      lastStepMs: 400,
      stopTaking: async () => log.push("takes nothing more"),
      underWay: () => [...running.values()].map(({ promise }) => promise),
      abort() {
        const left = [...running.keys()];
        log.push(`aborted ${left.join(", ")} at ${clock.now() - 1_000}`);
        for (const name of left) if (!deaf.has(name)) end(name);
        return left;
      },
      handBack: async () => log.push(`handed back ${[...running.keys()].join(", ")}`),
      ...more,
    });
  return { clock, log, begin, end, stop };
}

describe("a stop", () => {
  it("with nothing under way is over at once", async () => {
    const { log, stop } = createWorker();
    expect(await stop()).toEqual({ interrupted: [] });
    expect(log).toEqual(["takes nothing more", "handed back "]);
  });

  it("lets work finish and aborts nothing", async () => {
    const { clock, log, begin, end, stop } = createWorker();
    begin("a");
    begin("b");
    const stopping = stop();
    await clock.advance(3_000);
    end("a");
    await clock.advance(3_000);
    end("b");
    await clock.advance(0);
    expect(await stopping).toEqual({ interrupted: [] });
    expect(log).toEqual(["takes nothing more", "a ended at 3000", "b ended at 6000", "handed back "]);
  });

  it("aborts the rest when the grace is over, names it and hands back what does not let go", async () => {
    const { clock, log, begin, stop } = createWorker();
    begin("good");
    begin("deaf", { deaf: true });
    const stopping = stop();
    await clock.advance(10_000);
    await clock.advance(400);
    expect(await stopping).toEqual({ interrupted: ["good", "deaf"] });
    expect(log.slice(1)).toEqual(["aborted good, deaf at 10000", "good ended at 10000", "handed back deaf"]);
  });

  it("waits for what the last claim has brought", async () => {
    const { clock, begin, end, stop } = createWorker();
    const stopping = stop({ stopTaking: async () => begin("late") });
    await clock.advance(1_000);
    end("late");
    await clock.advance(0);
    expect(await stopping).toEqual({ interrupted: [] });
  });

  it("takes hardly longer than the grace, whatever the database does", async () => {
    const { clock, begin, stop } = createWorker();
    begin("a", { deaf: true });
    const never = () => new Promise<never>(() => {});
    let over = false;
    const stopping = stop({ stopTaking: never, handBack: never }).then(() => {
      over = true;
    });
    await clock.advance(10_799);
    expect(over).toBe(false);
    await clock.advance(1);
    await stopping;
    expect(over).toBe(true);
  });

  it("goes on although the database refuses", async () => {
    const { log, stop } = createWorker();
    const away = () => Promise.reject(new Error("away"));
    expect(await stop({ stopTaking: away, handBack: away })).toEqual({ interrupted: [] });
    expect(log).toEqual([]);
  });
});
