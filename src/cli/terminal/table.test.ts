import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { formatAge, formatBytes, formatCount, formatDuration, plural } from "./amounts.ts";
import { createOutput } from "./output.ts";
import { printTable } from "./table.ts";
import { fitText, plainLine, plainText, widthOf } from "./text.ts";

function printed(columns: number | undefined, rows: string[][]): string[] {
  const stream = new PassThrough() as unknown as NodeJS.WriteStream;
  Object.assign(stream, { isTTY: columns !== undefined, columns, hasColors: () => false });
  const output = createOutput({}, stream, stream);
  printTable(
    output,
    [{ head: "NAME" }, { head: "NOTE", flexible: true }, { head: "URL", flexible: true }],
    rows,
  );
  return String((stream as unknown as PassThrough).read())
    .trimEnd()
    .split("\n");
}

const long = "x".repeat(60);

test("a pipe gets every text whole, aligned", () => {
  expect(
    printed(undefined, [
      ["a", long, "u"],
      ["bbb", "", "v"],
    ]),
  ).toEqual([`NAME  NOTE${" ".repeat(58)}URL`, `a     ${long}  u`, `bbb   ${" ".repeat(60)}  v`]);
});

test("a terminal gets lines that fit; the wide columns give way", () => {
  const lines = printed(40, [["a-name-that-stays", long, long]]);
  expect(lines.every((line) => widthOf(line) <= 40)).toBe(true);
  expect(lines[1]).toMatch(/^a-name-that-stays {2}x+… {2}x+…$/);
});

test("wide letters count twice", () => {
  expect(widthOf("日本")).toBe(4);
  expect(fitText("日本語", 5)).toBe("日本…");
  expect(fitText("abc", 3)).toBe("abc");
});

test("what could steer a terminal is taken out", () => {
  expect(plainText("a\u001b[31mred\u001b[0m\u0007\u009b2Jb\tc\nd")).toBe("aredb\tc\nd");
  expect(plainLine(" a\r\n  b\tc ")).toBe("a b c");
});

test("amounts read well", () => {
  const now = new Date("2026-08-01T12:00:00Z");
  expect(
    ["2026-08-01T11:59:59Z", "2026-08-01T11:58:00Z", "2026-07-30T12:00:00Z", "2026-08-01T14:00:00Z"].map(
      (at) => formatAge(at, now),
    ),
  ).toEqual(["now", "2m ago", "2d ago", "in 2h"]);
  expect([400, 12_300, 65_000, 7_800_000].map(formatDuration)).toEqual(["0.4 s", "12 s", "1m 05s", "2h 10m"]);
  expect([999, 1_500, 2_000_000].map(formatBytes)).toEqual(["999 B", "1.5 kB", "2.0 MB"]);
  expect([formatCount(1234567), plural(1, "file"), plural(2, "file")]).toEqual([
    "1 234 567",
    "1 file",
    "2 files",
  ]);
});
