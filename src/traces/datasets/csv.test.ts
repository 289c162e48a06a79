import { expect, test } from "vitest";
import { parseCsv } from "./csv.ts";

test.each([
  [
    "a,b\n1,2\n",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    "\ufeffa,b\r\n1,2",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  ['a\n"x, ""y""\nz"\n', [["a"], ['x, "y"\nz']]],
  [
    "a,b,c\n,,\n\n1,,3\r",
    [
      ["a", "b", "c"],
      ["", "", ""],
      ["1", "", "3"],
    ],
  ],
  ['""', [[""]]],
  ['a"b,c', [['a"b', "c"]]],
  ["", []],
])("reads %j", (text, rows) => {
  expect(parseCsv(text)).toEqual(rows);
});

test("a quote that is never closed is no CSV", () => {
  expect(parseCsv('a\n"b')).toBeNull();
  expect(parseCsv('a\n"b""')).toBeNull();
});
