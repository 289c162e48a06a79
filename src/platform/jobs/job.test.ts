import { describe, expect, it } from "vitest";
import { AppError } from "../errors.ts";
import { backoffMs, describeFailure, jobStatuses, jobTransitions, nextAttempt, occurrenceAt } from "./job.ts";
import { move } from "./job-statements.ts";

const now = new Date("2030-01-01T00:00:00Z");
const busy = new AppError({ code: "webhook.run_not_over", kind: "unavailable", message: "Busy. Try later." });
const wrong = new AppError({ code: "config.invalid", kind: "invalid", message: "Wrong." });

describe("job transitions", () => {
  it("has SQL for every move in the table and for no other", () => {
    for (const from of jobStatuses) {
      for (const to of jobStatuses) {
        if (jobTransitions[from].includes(to)) {
          expect(move(from, to)).toMatchObject({ where: `status = '${from}'` });
        } else {
          expect(() => move(from, to)).toThrow(`from ${from} to ${to}`);
        }
      }
    }
  });
});

describe("nextAttempt", () => {
  const base = { attempts: 1, maxAttempts: 3, now, random: 1 };

  it("tries a retryable error again after the back-off", () => {
    expect(nextAttempt({ ...base, error: busy })).toEqual({
      status: "pending",
      runAt: new Date("2030-01-01T00:00:01Z"),
    });
  });

  it("gives up at the last attempt", () => {
    expect(nextAttempt({ ...base, attempts: 3, error: busy })).toEqual({ status: "dead" });
  });

  it.each([
    ["an error that is not retryable", wrong],
    ["a defect", new TypeError("x is undefined")],
    ["a thrown text", "busy"],
  ])("gives up at once on %s", (_name, error) => {
    expect(nextAttempt({ ...base, error })).toEqual({ status: "dead" });
  });
});

describe("backoffMs", () => {
  it("doubles up to the ceiling, half of it random", () => {
    const backoff = { firstMs: 100, maxMs: 1_000 };
    expect([1, 2, 3, 4, 5, 50].map((attempts) => backoffMs(attempts, 1, backoff))).toEqual([
      100, 200, 400, 800, 1_000, 1_000,
    ]);
    expect([1, 2, 5].map((attempts) => backoffMs(attempts, 0, backoff))).toEqual([50, 100, 500]);
  });
});

describe("describeFailure", () => {
  it("keeps an AppError's code and calls anything else a defect", () => {
    expect(describeFailure(busy, 2)).toEqual({
      code: "webhook.run_not_over",
      message: "Busy. Try later.",
      retryable: true,
      attempt: 2,
    });
    expect(describeFailure("odd", 1)).toEqual({
      code: "job.defect",
      message: "odd",
      retryable: false,
      attempt: 1,
    });
  });

  it("makes any text storable", () => {
    const { message } = describeFailure(new Error(`a\u0000b\uD800c${"x".repeat(10_000)}`), 1);
    expect(message.startsWith("a\uFFFDb\uFFFDc")).toBe(true);
    expect(message).toHaveLength(4_000);
  });
});

describe("occurrenceAt", () => {
  it("is the same for all moments of a period, and the next one begins where it ends", () => {
    const hour = 3_600_000;
    const first = occurrenceAt(new Date("2030-01-01T10:00:00Z"), hour);
    expect(occurrenceAt(new Date("2030-01-01T10:59:59.999Z"), hour)).toEqual(first);
    expect(first.runAt).toEqual(new Date("2030-01-01T10:00:00Z"));
    const second = occurrenceAt(first.endsAt, hour);
    expect(second.runAt).toEqual(first.endsAt);
    expect(second.key).not.toBe(first.key);
  });
});
