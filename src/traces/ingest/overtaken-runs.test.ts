import { expect, it } from "vitest";
import type { RunWriting } from "../storage/run-storage.ts";
import { OvertakenRuns } from "./overtaken-runs.ts";
import type { RunWriter } from "./run-writer.ts";

const minuteMs = 60_000;
const start = Date.parse("2026-01-01T00:00:00Z");

/** Rounds at the given minutes; answers how many minutes back each looked, null for everything. */
async function lookedBack(
  minutes: number[],
  { failing = [], full = [] }: { failing?: number[]; full?: number[] } = {},
): Promise<(number | null)[]> {
  let nowMs = start;
  const looked: (number | null)[] = [];
  const writing = {
    listOvertaken: async (_limit: number, since?: Date) => {
      looked.push(since ? (nowMs - since.getTime()) / minuteMs : null);
      return [];
    },
    settleOvertaken: async (limit: number) => {
      const minute = (nowMs - start) / minuteMs;
      if (failing.includes(minute)) throw new Error("The database is away.");
      return full.includes(minute) ? limit : 0;
    },
    forgetWaiting: async () => undefined,
  } as Partial<RunWriting> as RunWriting;
  const runs = new OvertakenRuns({
    ...{ writing, writer: {} as RunWriter },
    clock: { now: () => new Date(nowMs) },
  });
  for (const minute of minutes) {
    nowMs = start + minute * minuteMs;
    await runs.fold().catch(() => undefined);
  }
  return looked;
}

it("looks at everything first and every hour, and at what came lately in between", async () => {
  expect(await lookedBack([0, 1, 2, 59, 60, 61])).toEqual([null, 15, 15, 15, null, 15]);
});

it("looks at everything again after a round that failed", async () => {
  expect(await lookedBack([0, 1, 2], { failing: [0] })).toEqual([null, null, 15]);
});

it("looks at everything again after a round that came to its limit", async () => {
  expect(await lookedBack([0, 1, 2], { full: [0] })).toEqual([null, null, 15]);
});
