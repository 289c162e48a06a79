import { describe, expect, it } from "vitest";
import { formatBytes, formatDuration, formatMoney, formatRelative } from "./format.ts";

describe("numbers and times as people read them", () => {
  it.each([
    [0, "0 ms"],
    [0.4, "<1 ms"],
    [999, "999 ms"],
    [1_500, "1.50 s"],
    [61_000, "1 min 1 s"],
    [7_200_000, "2 h 0 min"],
    [Number.NaN, "–"],
  ])("%d ms is %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

  it("bytes and money", () => {
    expect([formatBytes(0), formatBytes(1_500), formatBytes(171_000_000)]).toEqual([
      "0 B",
      "1.5 KB",
      "171 MB",
    ]);
  });

  it.each([
    [0, "$0"],
    [0.000_000_12, "$0.00000012"],
    [0.00042, "$0.00042"],
    [0.0012, "$0.0012"],
    [0.0149, "$0.0149"],
    [0.5, "$0.50"],
    [1234.5, "$1,234.50"],
    [1e-12, "<$0.00000001"],
  ])("%d dollars are %s", (dollars, text) => expect(formatMoney(dollars)).toBe(text));

  it("an amount below nothing", () => {
    expect(formatMoney(-0.0012)).toBe("-$0.0012");
  });

  it("how long ago", () => {
    const now = new Date("2030-01-01T12:00:00Z");
    const ago = (seconds: number) => formatRelative(new Date(now.getTime() - seconds * 1_000), now);
    expect([ago(3), ago(30), ago(300), ago(7_200), ago(86_400)]).toEqual([
      "just now",
      "30 sec. ago",
      "5 min. ago",
      "2 hr. ago",
      "yesterday",
    ]);
  });
});
