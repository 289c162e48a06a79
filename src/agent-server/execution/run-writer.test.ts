import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { EventLog } from "../delivery/event-log.ts";
import type { EventRow } from "../delivery/event-store.ts";
import type { ClaimedRun } from "../runs/run.ts";
import { RunWriter } from "./run-writer.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function openWriter({ fails = false } = {}) {
  const sent: EventRow[] = [];
  const lost: unknown[] = [];
  const reader = { follows: false };
  const events = {
    append: async (row: EventRow) => {
      if (fails) throw new Error("refused");
      sent.push(row);
    },
  } as unknown as EventLog;
  const writer = new RunWriter({ thread_id: "thread", run_id: "run", attempt: 1 } as ClaimedRun, {
    events,
    numbers: { seq: 10, protocol: 3, run: 0 },
    requireHeld: () => undefined,
    onLost: (error) => lost.push(error),
    isFollowed: () => reader.follows,
  });
  const write = (data: string) => writer.write("run", "values", "", data);
  return { writer, write, reader, lost, sentData: () => sent.map(({ data }) => data) };
}

describe("events that somebody reads", () => {
  it("are sent at once", async () => {
    const { writer, write, reader, sentData } = openWriter();
    reader.follows = true;
    write("a");
    write("b");
    expect(sentData()).toEqual(["a", "b"]);
    expect(await writer.settled()).toEqual([]);
  });

  it("are sent after those that were kept back until then", () => {
    const { write, reader, sentData } = openWriter();
    write("a");
    reader.follows = true;
    write("b");
    expect(sentData()).toEqual(["a", "b"]);
  });
});

describe("events that nobody reads", () => {
  it("are left to the end of the run, numbered", async () => {
    const { writer, write, sentData } = openWriter();
    write("a");
    write("b");
    const kept = await writer.settled();
    expect(kept).toMatchObject([
      { seq: 11, number: 1, threadId: "thread", runId: "run", attempt: 1, data: "a" },
      { seq: 12, number: 2, data: "b" },
    ]);
    expect(writer.numbers).toEqual({ seq: 12, protocol: 3, run: 2 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sentData()).toEqual([]);
  });

  it("are sent after a moment, once", async () => {
    const { writer, write, sentData } = openWriter();
    write("a");
    await vi.advanceTimersByTimeAsync(50);
    write("b");
    expect(sentData()).toEqual([]);
    await vi.advanceTimersByTimeAsync(50);
    expect(sentData()).toEqual(["a", "b"]);
    write("c");
    expect((await writer.settled()).map(({ data }) => data)).toEqual(["c"]);
  });

  it("are sent when somebody begins to read", () => {
    const { writer, write, sentData } = openWriter();
    write("a");
    writer.flush();
    writer.flush();
    expect(sentData()).toEqual(["a"]);
  });

  it.each([
    { many: "events", count: 65, data: "a" },
    { many: "bytes", count: 1, data: "a".repeat(64_001) },
  ])("are sent when they are too many $many", ({ count, data }) => {
    const { write, sentData } = openWriter();
    for (let index = 0; index < count; index += 1) write(data);
    expect(sentData()).toHaveLength(count);
  });
});

it("tells of an event that could not be written, and does not settle", async () => {
  const { writer, write, reader, lost } = openWriter({ fails: true });
  reader.follows = true;
  write("a");
  await expect(writer.settled()).rejects.toThrow("refused");
  expect(lost).toHaveLength(1);
});
