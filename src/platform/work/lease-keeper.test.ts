import { beforeEach, describe, expect, it } from "vitest";
import {
  createFakeMonotonicClock,
  type FakeMonotonicClock,
} from "../../../tests/support/fake-monotonic-clock.ts";
import { LeaseKeeper, type LeaseKeeperOptions } from "./lease-keeper.ts";

let clock: FakeMonotonicClock;
let asked: string[][];
let failed: unknown[];
let renew: LeaseKeeperOptions<string>["renew"];

beforeEach(() => {
  clock = createFakeMonotonicClock();
  asked = [];
  failed = [];
  renew = async (subjects) => new Set(subjects);
});

const createKeeper = () =>
  new LeaseKeeper<string>({
    clock,
    leaseMs: 20_000,
    renewEveryMs: 5_000,
    errorOf: (subject, end) => new Error(`${subject} ${end} and the work stops`),
    reasonOf: (subject, end) => `${subject} ${end}`,
    onRenewFailed: (error) => failed.push(error),
    renew(subjects) {
      asked.push([...subjects]);
      return renew(subjects);
    },
  });

describe("renews", () => {
  it("all with one statement per beat, while there are any", async () => {
    const keeper = createKeeper();
    const a = keeper.hold("a", keeper.until());
    const b = keeper.hold("b", keeper.until());
    await clock.advance(10_000);
    keeper.drop(a);
    await clock.advance(5_000);
    keeper.drop(b);
    await clock.advance(100_000);
    expect(asked).toEqual([["a", "b"], ["a", "b"], ["b"]]);
    expect(clock.nextIn()).toBeNull();
  });

  it("for as long as it takes: the work goes on", async () => {
    const keeper = createKeeper();
    const lease = keeper.hold("a", keeper.until());
    await clock.advance(600_000);
    expect(lease.isOver).toBe(false);
    expect(() => lease.require()).not.toThrow();
    expect(lease.stop.signal.aborted).toBe(false);
  });

  it("from before the database was asked: what it says later counts from then", async () => {
    const keeper = createKeeper();
    const lease = keeper.hold("a", keeper.until());
    const slow = Promise.withResolvers<ReadonlySet<string>>();
    renew = () => slow.promise;
    await clock.advance(15_000);
    slow.resolve(new Set(["a"]));
    await clock.advance(0);
    expect(lease.until).toBe(1_000 + 5_000 + 20_000);
  });
});

describe("a lease that could not be renewed", () => {
  it("ends by the monotonic clock and aborts the work, although the database does not answer", async () => {
    const keeper = createKeeper();
    const lease = keeper.hold("a", keeper.until());
    renew = () => new Promise(() => {});
    await clock.advance(19_999);
    expect(lease.stop.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(lease.stop.signal.reason).toBe("a ended");
    expect(() => lease.require()).toThrow("a ended");
    expect(asked).toHaveLength(1);
  });

  it("is tried again at each beat before that", async () => {
    const keeper = createKeeper();
    const lease = keeper.hold("a", keeper.until());
    renew = () => Promise.reject(new Error("away"));
    await clock.advance(14_999);
    expect(failed).toHaveLength(2);
    renew = async (subjects) => new Set(subjects);
    await clock.advance(10_000);
    expect(lease.isOver).toBe(false);
  });

  it("begins nothing in a process that was stopped beyond it, before any timer has come", () => {
    const keeper = createKeeper();
    const lease = keeper.hold("a", keeper.until());
    clock.freeze(20_000);
    expect(() => lease.require()).toThrow("a ended");
    expect(lease.stop.signal.reason).toBe("a ended");
  });

  it("does not begin again when the database answers after all", async () => {
    const keeper = createKeeper();
    const lease = keeper.hold("a", keeper.until());
    const late = Promise.withResolvers<ReadonlySet<string>>();
    renew = () => late.promise;
    await clock.advance(21_000);
    late.resolve(new Set(["a"]));
    await clock.advance(1_000);
    expect(lease.end).toBe("ended");
  });

  it("ends alone: those that were taken later go on", async () => {
    const keeper = createKeeper();
    renew = () => new Promise(() => {});
    const first = keeper.hold("first", keeper.until());
    await clock.advance(3_000);
    const second = keeper.hold("second", keeper.until());
    await clock.advance(17_000);
    expect([first.isOver, second.isOver]).toEqual([true, false]);
    await clock.advance(3_000);
    expect(second.stop.signal.reason).toBe("second ended");
  });
});

describe("a lease that somebody else has", () => {
  it("is lost at the next beat", async () => {
    const keeper = createKeeper();
    const [mine, theirs] = ["mine", "theirs"].map((name) => keeper.hold(name, keeper.until()));
    renew = async () => new Set(["mine"]);
    await clock.advance(5_000);
    expect(theirs!.stop.signal.reason).toBe("theirs lost");
    expect(mine!.stop.signal.aborted).toBe(false);
  });

  it("is lost at once when somebody asks", async () => {
    const keeper = createKeeper();
    const lease = keeper.hold("a", keeper.until());
    renew = async () => new Set();
    await keeper.renewNow(lease);
    expect(lease.end).toBe("lost");
  });

  it("is not taken for lost when it was dropped while the database was asked", async () => {
    const keeper = createKeeper();
    const lease = keeper.hold("a", keeper.until());
    const answer = Promise.withResolvers<ReadonlySet<string>>();
    renew = () => answer.promise;
    await clock.advance(5_000);
    keeper.drop(lease);
    answer.resolve(new Set());
    await clock.advance(0);
    expect(lease.stop.signal.aborted).toBe(false);
  });
});

describe("a keeper that is stopped", () => {
  it("renews no more, and what is held comes to its end", async () => {
    const keeper = createKeeper();
    const lease = keeper.hold("a", keeper.until());
    keeper.stop();
    await clock.advance(20_000);
    expect(asked).toEqual([]);
    expect(lease.stop.signal.reason).toBe("a ended");
  });
});

it("refuses a lease that one lost renewal would end", () => {
  const options = {
    errorOf: () => new Error(),
    onRenewFailed() {},
    renew,
    leaseMs: 1_000,
    renewEveryMs: 600,
  };
  expect(() => new LeaseKeeper(options)).toThrow("must outlive two heartbeats");
});
