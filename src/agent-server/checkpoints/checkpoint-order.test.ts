import { uuid6 } from "@langchain/langgraph-checkpoint";
import { expect, it } from "vitest";
import { millisecondOf, untilLater } from "./checkpoint-order.ts";

/** As Python makes them: anywhere within the millisecond. */
function idAt(milliseconds: number, within = 9_999n): string {
  const time = (BigInt(milliseconds) * 10_000n + within + 0x01b21dd213814000n).toString(16).padStart(15, "0");
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-6${time.slice(12)}-8000-000000000000`;
}

it("reads the time of both libraries' ids", () => {
  const before = Date.now();
  const made = millisecondOf(uuid6(1))!;
  expect(made).toBeGreaterThanOrEqual(before);
  expect(made).toBeLessThanOrEqual(Date.now() + 1);
  expect(millisecondOf(idAt(1_700_000_000_123))).toBe(1_700_000_000_123);
  expect(millisecondOf("00000000-0000-4000-8000-000000000000")).toBeUndefined();
  expect(millisecondOf("a name")).toBeUndefined();
});

it("waits until the library's ids are later, also those of the same millisecond", async () => {
  const parent = idAt(Date.now() + 20);
  await untilLater(parent);
  expect(uuid6(0) > parent).toBe(true);
});

it("asks the clock again when it is set back meanwhile", async () => {
  const times = [10, 4, 12];
  let asked = 0;
  await untilLater(idAt(11), () => times[asked++]!);
  expect(asked).toBe(3);
});

it("does not wait for a clock that is set wrong", async () => {
  await expect(untilLater(idAt(3_600_000), () => 1)).rejects.toMatchObject({
    code: "checkpoint.clock_behind",
    message: expect.stringMatching(/3600 s behind/),
  });
});
