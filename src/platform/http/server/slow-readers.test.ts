import { describe, expect, it } from "vitest";
import { ReaderBudget } from "./reader-budget.ts";
import { encodeFrame, sseResponse } from "./sse.ts";

const frameOf = (size: number) =>
  Buffer.from(encodeFrame({ event: "values", data: "x".repeat(size), id: "7" }));

/** A stream that sends one frame and then nothing more. */
function streamOf(frame: Uint8Array, budget: ReaderBudget): Response {
  return sseResponse(
    async function* (signal) {
      yield [frame];
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
    { budget },
  );
}

describe("a large frame", () => {
  it("goes out in pieces that are the same memory for all readers, and arrives whole", async () => {
    const budget = new ReaderBudget({ maxBytes: 10_000_000 });
    const frame = frameOf(1_000_000);
    const readers = Array.from({ length: 20 }, () => streamOf(frame, budget).body!.getReader());
    for (const reader of readers) {
      const { value } = await reader.read();
      expect(value!.byteLength).toBeLessThanOrEqual(64 * 1024);
      expect(value!.buffer).toBe(frame.buffer);
    }
    expect(budget.bytes).toBe(frame.byteLength);
    const parts: Uint8Array[] = [];
    let taken = 64 * 1024;
    while (taken < frame.byteLength) {
      const { value } = await readers[0]!.read();
      parts.push(value!);
      taken += value!.byteLength;
    }
    expect(Buffer.concat([frame.subarray(0, 64 * 1024), ...parts]).equals(frame)).toBe(true);
    for (const reader of readers) await reader.cancel();
    expect(budget.bytes).toBe(0);
  });
});

describe("readers that do not read", () => {
  it("are cut, the one that has not moved for the longest first, when others need the room", async () => {
    const budget = new ReaderBudget({ maxBytes: 2_500_000 });
    const open = async () => {
      const reader = streamOf(frameOf(1_000_000), budget).body!.getReader();
      await reader.read();
      return reader;
    };
    const first = await open();
    const second = await open();
    await first.read();
    const third = await open();
    expect(budget.bytes).toBeLessThanOrEqual(2_500_000);
    await expect(second.read()).rejects.toThrow("too slow");
    expect((await first.read()).done).toBe(false);
    expect((await third.read()).done).toBe(false);
    for (const reader of [first, third]) await reader.cancel();
    expect(budget.bytes).toBe(0);
  });

  it("get what they were given however large it is, when they are alone", async () => {
    const budget = new ReaderBudget({ maxBytes: 1_000 });
    const reader = streamOf(frameOf(1_000_000), budget).body!.getReader();
    let taken = 0;
    while (taken < 1_000_000) taken += (await reader.read()).value!.byteLength;
    await reader.cancel();
    expect(budget.bytes).toBe(0);
  });
});
