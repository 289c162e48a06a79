import { expect, test } from "vitest";
import { nearNames } from "./near-names.ts";
import { parseCount, parseDuration, parseMoment } from "./parse-amounts.ts";

const now = new Date("2026-08-10T12:00:00.000Z");

test.each([
  ["90", 90_000],
  ["90s", 90_000],
  ["1.5m", 90_000],
  ["2h", 7_200_000],
  ["7d", 604_800_000],
])("%s is %i ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(["", "soon", "-1", "10 parsecs", "1e3"])("%j is no duration", (text) => {
  expect(() => parseDuration(text)).toThrow(/must be like/);
});

test.each([
  ["now", "2026-08-10T12:00:00.000Z"],
  ["2h", "2026-08-10T10:00:00.000Z"],
  ["7d", "2026-08-03T12:00:00.000Z"],
  ["2026-08-01", "2026-08-01T00:00:00.000Z"],
  ["2026-08-01T05:00:00", "2026-08-01T05:00:00.000Z"],
  ["2026-08-01T05:00:00+02:00", "2026-08-01T03:00:00.000Z"],
])("%s is %s", (text, expected) => {
  expect(parseMoment(text, now).toISOString()).toBe(expected);
});

test.each(["yesterday", "08/01/2026", "2026-13-45", "7"])("%j is no time", (text) => {
  expect(() => parseMoment(text, now)).toThrow(/must be a time/);
});

test("counts start at 1", () => {
  expect(parseCount("20")).toBe(20);
  for (const text of ["0", "-3", "many", "1.5"]) expect(() => parseCount(text)).toThrow();
});

test("near names: swapped, missing and partial, nothing far away", () => {
  const names = ["support-bot", "billing", "react-agent"];
  expect(nearNames("raect-agent", names)).toEqual(["react-agent"]);
  expect(nearNames("biling", names)).toEqual(["billing"]);
  expect(nearNames("support", names)).toEqual(["support-bot"]);
  expect(nearNames("xylophone", names)).toEqual([]);
});
