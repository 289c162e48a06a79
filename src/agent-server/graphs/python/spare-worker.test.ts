import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SpareWorker } from "./spare-worker.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

type Made = {
  killed: string | undefined;
  ended: Promise<Error>;
  end(): void;
  warmed: PromiseWithResolvers<void>;
  kill(why: string): void;
  warm(): Promise<void>;
};

function spares() {
  const made: Made[] = [];
  const failures: unknown[] = [];
  const ready: Made[] = [];
  const machine = { free: 2 };
  const start = () => {
    const { promise: ended, resolve } = Promise.withResolvers<Error>();
    const warmed = Promise.withResolvers<void>();
    const worker: Made = {
      killed: undefined,
      ended,
      end: () => resolve(new Error("gone")),
      warmed,
      kill: (why) => {
        worker.killed = why;
      },
      warm: () => warmed.promise,
    };
    made.push(worker);
    return worker;
  };
  const spare = new SpareWorker({
    start,
    freeProcessors: () => machine.free,
    onReady: (worker) => ready.push(worker),
    onFailed: (error) => failures.push(error),
  });
  return { made, spare, machine, ready, failures };
}

async function warm(worker: Made): Promise<void> {
  worker.warmed.resolve();
  await vi.advanceTimersByTimeAsync(0);
}

it("is there some time after the first run, while runs are under way", async () => {
  const { made, spare } = spares();
  expect(spare.take()).toBeUndefined();
  spare.want();
  vi.advanceTimersByTime(2_999);
  expect(made).toHaveLength(0);
  spare.want();
  vi.advanceTimersByTime(1);
  expect(made).toHaveLength(1);
  await warm(made[0]!);
  vi.advanceTimersByTime(1_000_000);
  expect(made[0]!.killed).toBeUndefined();
  expect(spare.take()).toBe(made[0]);
  expect(spare.take()).toBeUndefined();
});

it("is put off while no processor is free for it, and made all the same on a machine that is never at rest", () => {
  const { made, spare, machine } = spares();
  machine.free = 0.4;
  spare.want();
  vi.advanceTimersByTime(10_000);
  expect(made).toHaveLength(0);
  machine.free = 0.6;
  vi.advanceTimersByTime(1_000);
  expect(made).toHaveLength(1);

  const busy = spares();
  busy.machine.free = 0;
  busy.spare.want();
  vi.advanceTimersByTime(29_000);
  expect(busy.made).toHaveLength(0);
  vi.advanceTimersByTime(1_000);
  expect(busy.made).toHaveLength(1);
});

it("is not given out before it has imported the libraries, and is there for the next", async () => {
  const { made, spare, ready } = spares();
  spare.want();
  vi.advanceTimersByTime(3_000);
  expect(spare.take()).toBeUndefined();
  expect(ready).toEqual([]);
  await warm(made[0]!);
  expect(ready).toEqual(made);
  expect(spare.take()).toBe(made[0]);
});

it("that cannot import the libraries is ended, and what went wrong is told", async () => {
  const { made, spare, failures } = spares();
  spare.want();
  vi.advanceTimersByTime(3_000);
  const reason = new Error("there is no langgraph");
  made[0]!.warmed.reject(reason);
  await vi.advanceTimersByTimeAsync(0);
  expect(made[0]!.killed).toBe("It could not import the libraries.");
  expect(failures).toEqual([reason]);
  expect(spare.take()).toBeUndefined();
});

it("is not made for a run that is over, but for others that follow", () => {
  const { made, spare } = spares();
  spare.want();
  spare.unwant();
  vi.advanceTimersByTime(6_000);
  expect(made).toHaveLength(0);
  for (let run = 0; run < 3; run += 1) {
    spare.want();
    vi.advanceTimersByTime(1_200);
    spare.unwant();
    spare.want();
  }
  expect(made).toHaveLength(1);
});

it("is dropped when nothing has run for a while", async () => {
  const { made, spare } = spares();
  spare.want();
  vi.advanceTimersByTime(3_000);
  await warm(made[0]!);
  spare.unwant();
  vi.advanceTimersByTime(59_999);
  spare.want();
  vi.advanceTimersByTime(1_000_000);
  expect(made[0]!.killed).toBeUndefined();
  spare.unwant();
  vi.advanceTimersByTime(60_000);
  expect(made[0]!.killed).toBe("It was not needed.");
  expect(spare.take()).toBeUndefined();
});

it("that ended by itself is not given out, and is followed by another", async () => {
  const { made, spare, failures } = spares();
  spare.want();
  vi.advanceTimersByTime(3_000);
  await warm(made[0]!);
  made[0]!.end();
  await vi.advanceTimersByTimeAsync(0);
  expect(spare.take()).toBeUndefined();
  spare.want();
  vi.advanceTimersByTime(3_000);
  await warm(made[1]!);
  expect(spare.take()).toBe(made[1]);
  expect(failures).toEqual([]);
});

it("ends with the server, also one that was about to be made or is half done", async () => {
  const { made, spare, failures } = spares();
  spare.want();
  spare.stop();
  vi.advanceTimersByTime(100_000);
  expect(made).toHaveLength(0);

  const other = spares();
  other.spare.want();
  vi.advanceTimersByTime(3_000);
  other.spare.stop();
  expect(other.made[0]!.killed).toBe("It was not needed.");
  other.made[0]!.warmed.reject(new Error("gone"));
  await vi.advanceTimersByTimeAsync(0);
  expect([...failures, ...other.failures]).toEqual([]);
});
