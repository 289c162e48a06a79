import { describe, expect, it } from "vitest";
import { isFault, nextDue, parseSchedule, parseTime } from "./cron-schedule.ts";

function next(text: string, timezone: string | null, after: string): string | null {
  const schedule = parseSchedule(text, timezone);
  if (isFault(schedule)) throw new Error(schedule.message);
  return schedule.next(new Date(after))?.toISOString() ?? null;
}

describe("parseSchedule", () => {
  it.each([
    ["*/5 * * * *", null, "2030-01-01T00:05:00Z", "2030-01-01T00:10:00.000Z"],
    ["0 9 * * *", null, "2030-01-01T00:00:00Z", "2030-01-01T09:00:00.000Z"],
    ["0 9 * * *", "America/New_York", "2030-01-01T00:00:00Z", "2030-01-01T14:00:00.000Z"],
    ["0 9 * * *", "America/New_York", "2030-07-01T00:00:00Z", "2030-07-01T13:00:00.000Z"],
    ["0 9 ? * MON", null, "2030-01-01T00:00:00Z", "2030-01-07T09:00:00.000Z"],
    ["@daily", "Europe/Berlin", "2030-01-01T00:00:00Z", "2030-01-01T23:00:00.000Z"],
    // The sixth field is the second.
    ["* * * * * 15", null, "2030-01-01T00:00:20Z", "2030-01-01T00:01:15.000Z"],
    // Day of month or day of week, as cron has it.
    ["0 0 15 * 1", null, "2030-01-01T00:00:00Z", "2030-01-07T00:00:00.000Z"],
    ["0 0 30 2 *", null, "2030-01-01T00:00:00Z", null],
  ])("%s in %s after %s", (text, timezone, after, expected) => {
    expect(next(text, timezone, after)).toBe(expected);
  });

  it.each([
    ["every day", null, "schedule"],
    ["* * * *", null, "schedule"],
    ["0 0 * * * * *", null, "schedule"],
    ["61 * * * *", null, "schedule"],
    ["2030-01-01T00:00:00", null, "schedule"],
    ["@reboot", null, "schedule"],
    ["* * * * *", "Mars/Olympus", "timezone"],
    ["* * * * *", "+02:00", "timezone"],
    ["* * * * *", "", "timezone"],
  ])("refuses %j in %j, naming the field", (text, timezone, field) => {
    expect(parseSchedule(text, timezone)).toMatchObject({ field });
  });
});

describe("nextDue", () => {
  it("ends with the end time, which is still part of it", () => {
    const schedule = parseSchedule("0 * * * *", null);
    if (isFault(schedule)) throw new Error(schedule.message);
    const now = new Date("2030-01-01T00:30:00Z");
    expect(nextDue(schedule, now, new Date("2030-01-01T01:00:00Z"))).toEqual(
      new Date("2030-01-01T01:00:00Z"),
    );
    expect(nextDue(schedule, now, new Date("2030-01-01T00:59:59Z"))).toBeNull();
  });
});

describe("parseTime", () => {
  it.each([
    ["2030-01-31T12:00:00Z", "2030-01-31T12:00:00.000Z"],
    ["2030-01-31T12:00:00+02:00", "2030-01-31T10:00:00.000Z"],
    ["2030-01-31T12:00:00.123456", "2030-01-31T12:00:00.123Z"],
    ["2030-01-31 12:00", "2030-01-31T12:00:00.000Z"],
    ["2030-01-31", "2030-01-31T00:00:00.000Z"],
  ])("reads %s", (text, expected) => {
    expect(parseTime(text)?.toISOString()).toBe(expected);
  });

  it.each(["tomorrow", "", "2030-13-01T00:00:00Z", "31.01.2030"])("refuses %j", (text) => {
    expect(parseTime(text)).toBeNull();
  });
});
