import { expect, it } from "vitest";
import { parseCsv } from "./csv.ts";

const cells = (text: string) => {
  const read = parseCsv(text);
  return "rows" in read ? read.rows.map((row) => row.cells) : read.fault;
};

it("reads quotes, commas and lines within fields, and all ends of lines", () => {
  expect(cells('\ufeffa,b\r\n"x, ""y""\nz",2\n\n,\rlast,""')).toEqual([
    ["a", "b"],
    ['x, "y"\nz', "2"],
    ["", ""],
    ["last", ""],
  ]);
  expect(cells("")).toEqual([]);
});

it("counts lines also within fields", () => {
  const read = parseCsv('a\n"1\n2\n3"\nb\n');
  expect("rows" in read && read.rows.map(({ line }) => line)).toEqual([1, 2, 5]);
});

it.each([
  ['a,b\n1,"open', 2, /never closed/],
  ['a\n\n"x"y\n', 3, /more after the quote/],
])("says where %j breaks", (text, line, message) => {
  expect(cells(text)).toEqual({ line, message: expect.stringMatching(message) });
});
