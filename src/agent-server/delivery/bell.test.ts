import { describe, expect, it } from "vitest";
import { Bell } from "./bell.ts";

describe("a bell", () => {
  it("wakes who waits for it", async () => {
    const bell = new Bell();
    const rung = bell.rings();
    bell.ring();
    await rung;
    expect(bell.take()).toBe(true);
    expect(bell.take()).toBe(false);
  });

  it("remembers that it rang while nobody waited", async () => {
    const bell = new Bell();
    bell.ring();
    bell.ring();
    await bell.rings();
    expect(bell.take()).toBe(true);
    expect(bell.take()).toBe(false);
  });
});
