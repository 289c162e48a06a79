import { describe, expect, test } from "vitest";
import { calendarDay, dayStart, microsText, parseMicros, wireTime } from "./exact-time.ts";

describe("parseMicros", () => {
  test.each([
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"],
    ["2026-01-02T03:04:05.123456Z", "2026-01-02T03:04:05.123456Z"],
    ["2026-01-02T03:04:05.1234567Z", "2026-01-02T03:04:05.123456Z"],
    ["2026-01-02T03:04:05.5", "2026-01-02T03:04:05.500000Z"],
    ["2026-01-02 03:04", "2026-01-02T03:04:00.000000Z"],
    ["2026-01-02", "2026-01-02T00:00:00.000000Z"],
    ["2026-01-02T03:04:05+02:30", "2026-01-02T00:34:05.000000Z"],
    ["2026-01-01T00:00:00.000001-0100", "2026-01-01T01:00:00.000001Z"],
    ["2024-02-29T00:00:00+14", "2024-02-28T10:00:00.000000Z"],
    ["1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"],
  ])("%s", (given, expected) => {
    expect(microsText(parseMicros(given)!)).toBe(expected);
  });

  test.each([
    "",
    "now",
    "2026",
    "2026-13-01",
    "2025-02-29",
    "2026-01-01T24:00:00Z",
    "2026-01-01T00:00:60Z",
    "1767225600",
  ])("refuses %j", (given) => {
    expect(parseMicros(given)).toBeUndefined();
  });
});

test("wireTime shows a fraction only where there is one", () => {
  expect(wireTime("2026-01-02T03:04:05.000000Z")).toBe("2026-01-02T03:04:05+00:00");
  expect(wireTime("2026-01-02T03:04:05.000100Z")).toBe("2026-01-02T03:04:05.000100+00:00");
});

test("days begin at UTC midnight, before 1970 too", () => {
  expect(microsText(dayStart(parseMicros("1969-12-31T12:00:00Z")!))).toBe("1969-12-31T00:00:00.000000Z");
  expect(calendarDay(parseMicros("2024-02-29T23:59:59.999999Z")!)).toEqual({ year: 2024, month: 2, day: 29 });
});
