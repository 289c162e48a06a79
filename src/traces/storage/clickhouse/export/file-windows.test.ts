import { expect, test } from "vitest";
import { fileWindows } from "./file-windows.ts";

const window = { from: "2026-05-05T06:00:00.000001Z", to: "2026-05-06T00:00:00.000000Z" };
const start = Date.parse("2026-05-05T06:00:00Z") / 1_000;
const seconds = (...bytes: number[]) =>
  bytes.map((each, at) => ({ second: start + at * 10, runs: 5, bytes: each }));
const most = { bytes: 100, runs: 1_000 };

test("no runs, no file", () => {
  expect(fileWindows(window, [], most)).toEqual([]);
});

test("windows are the whole one, without gap or overlap, and end with the second that fills them", () => {
  expect(fileWindows(window, seconds(40, 70, 10, 90, 1), most)).toEqual([
    { from: window.from, to: "2026-05-05T06:00:11.000000Z", runs: 10 },
    { from: "2026-05-05T06:00:11.000000Z", to: "2026-05-05T06:00:31.000000Z", runs: 10 },
    { from: "2026-05-05T06:00:31.000000Z", to: window.to, runs: 5 },
  ]);
});

test("what fills the last one ends with the whole", () => {
  expect(fileWindows(window, seconds(40, 70), most)).toEqual([{ ...window, runs: 10 }]);
});

test("small runs are counted", () => {
  expect(fileWindows(window, seconds(1, 1, 1), { bytes: 100, runs: 10 })).toHaveLength(2);
});
