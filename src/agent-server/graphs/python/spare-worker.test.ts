import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SpareWorker } from "./spare-worker.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function spares() {
  const made: {
    name: number;
    killed?: string;
    end(): void;
    ended: Promise<Error>;
    kill(why: string): void;
  }[] = [];
  const prepare = () => {
    const { promise: ended, resolve } = Promise.withResolvers<Error>();
    const worker = {
      name: made.length,
      killed: undefined as string | undefined,
      ended,
      end: () => resolve(new Error("gone")),
      kill: (why: string) => {
        worker.killed = why;
      },
    };
    made.push(worker);
    return worker;
  };
  return { made, spare: new SpareWorker({ prepare, afterMs: 100, keptMs: 1_000 }) };
}

it("is there some time after the first run, while runs are under way", () => {
  const { made, spare } = spares();
  expect(spare.take()).toBeUndefined();
  spare.want();
  vi.advanceTimersByTime(99);
  expect(made).toHaveLength(0);
  spare.want();
  vi.advanceTimersByTime(1);
  expect(made).toHaveLength(1);
  vi.advanceTimersByTime(100_000);
  expect(made[0]!.killed).toBeUndefined();
  expect(spare.take()).toBe(made[0]);
  expect(spare.take()).toBeUndefined();
});

it("is not made for a run that is over, but for others that follow", () => {
  const { made, spare } = spares();
  spare.want();
  spare.unwant();
  vi.advanceTimersByTime(200);
  expect(made).toHaveLength(0);
  for (let run = 0; run < 3; run += 1) {
    spare.want();
    vi.advanceTimersByTime(40);
    spare.unwant();
    spare.want();
  }
  expect(made).toHaveLength(1);
});

it("is dropped when nothing has run for a while", () => {
  const { made, spare } = spares();
  spare.want();
  vi.advanceTimersByTime(100);
  spare.unwant();
  vi.advanceTimersByTime(999);
  spare.want();
  vi.advanceTimersByTime(10_000);
  expect(made[0]!.killed).toBeUndefined();
  spare.unwant();
  vi.advanceTimersByTime(1_000);
  expect(made[0]!.killed).toBe("It was not needed.");
  expect(spare.take()).toBeUndefined();
});

it("that ended by itself is not given out, and is followed by another", async () => {
  const { made, spare } = spares();
  spare.want();
  vi.advanceTimersByTime(100);
  made[0]!.end();
  await made[0]!.ended;
  await Promise.resolve();
  expect(spare.take()).toBeUndefined();
  spare.want();
  vi.advanceTimersByTime(100);
  expect(spare.take()).toBe(made[1]);
});

it("ends with the server, also one that was about to be made", () => {
  const { made, spare } = spares();
  spare.want();
  spare.stop();
  vi.advanceTimersByTime(10_000);
  expect(made).toHaveLength(0);
});
