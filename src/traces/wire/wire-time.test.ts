import { describe, expect, test } from "vitest";
import { dottedSegment, parseDottedOrder } from "../runs/dotted-order.ts";
import { readTime } from "./wire-time.ts";

describe("readTime", () => {
  test.each([
    ["2026-10-05T10:00:00.123456Z", "2026-10-05T10:00:00.123456Z"],
    ["2026-10-05T10:00:00.123456+00:00", "2026-10-05T10:00:00.123456Z"],
    ["2026-10-05T12:30:00.5+02:30", "2026-10-05T10:00:00.500000Z"],
    ["2026-10-05T08:00:00-0200", "2026-10-05T10:00:00.000000Z"],
    ["2026-10-05 10:00:00", "2026-10-05T10:00:00.000000Z"],
    ["2026-10-05T10:00:00.123456789", "2026-10-05T10:00:00.123456Z"],
    ["2026-10-05", "2026-10-05T00:00:00.000000Z"],
    [1_791_194_400_000, "2026-10-05T10:00:00.000000Z"],
    [1_791_194_400_000.25, "2026-10-05T10:00:00.000250Z"],
    [1_791_194_400, "2026-10-05T10:00:00.000000Z"],
    [1_791_194_400_000_001, "2026-10-05T10:00:00.000001Z"],
    [1_791_194_400_000_000_000, "2026-10-05T10:00:00.000000Z"],
    ["1791194400000", "2026-10-05T10:00:00.000000Z"],
  ])("%s is %s", (sent, time) => {
    expect(readTime(sent)).toBe(time);
  });

  test.each([
    "yesterday",
    "2026-02-30",
    "2026-10-05T25:00:00",
    "",
    -1,
    Number.NaN,
    1e30,
    null,
    {},
    "2026-13-01",
  ])("%s is no time", (sent) => {
    expect(readTime(sent)).toBeNull();
  });
});

describe("dotted order", () => {
  const root = "11111111-1111-4111-8111-111111111111";
  const child = "22222222-2222-4222-8222-222222222222";

  test("tells the way from the root, with times", () => {
    const text = `20261005T100000123456Z${root}.20261005T100001000000Z${child}`;
    expect(parseDottedOrder(text)?.segments).toEqual([
      { id: root, time: "2026-10-05T10:00:00.123456Z" },
      { id: child, time: "2026-10-05T10:00:01.000000Z" },
    ]);
    expect(dottedSegment("2026-10-05T10:00:00.123456Z", root)).toBe(text.split(".")[0]);
  });

  test.each([
    "",
    "x",
    root,
    `20261005T100000123456Z${root}.`,
    `20261005T100000123456Znope`,
    `20269905T100000123456Z${root}`,
  ])("refuses %s", (text) => {
    expect(parseDottedOrder(text)).toBeNull();
  });
});
