import { expect, test } from "vitest";
import { replaceLoneSurrogates } from "./lone-surrogates.ts";

function cleaned(text: string): string {
  const [before, after] = ['["\\ud800', '\\udfff"]'];
  const row = Buffer.from(before + text + after);
  const start = Buffer.byteLength(before);
  replaceLoneSurrogates(row, start, row.length - Buffer.byteLength(after));
  expect(row.toString("utf8").startsWith(before) && row.toString("utf8").endsWith(after)).toBe(true);
  return row.subarray(start, row.length - Buffer.byteLength(after)).toString("utf8");
}

test.each([
  ['{"a":"\\ud83d"}', '{"a":"\\ufffd"}'],
  ['{"a":"\\uDE00 x"}', '{"a":"\\ufffd x"}'],
  ['{"\\ud83d":1}', '{"\\ufffd":1}'],
  ['"\\ud83d\\ud83d\\ude00"', '"\\ufffd\\ud83d\\ude00"'],
  ['"\\ude00\\ud83d"', '"\\ufffd\\ufffd"'],
  ['"\\ud83d\\u0041"', '"\\ufffd\\u0041"'],
  ['"\\ud83d\\\\ude00"', '"\\ufffd\\\\ude00"'],
  ['"\\\\\\ud83d"', '"\\\\\\ufffd"'],
])("half surrogates of %s", (sent, expected) => {
  expect(cleaned(sent)).toBe(expected);
});

test.each([
  '"\\ud83d\\ude00"',
  '"😀 \\u00e9 \\n"',
  '"\\\\ud83d"',
  '"C:\\\\\\\\udata"',
  '"\\ud7ff\\ue000"',
  "{}",
  "",
])("nothing of %s", (sent) => {
  expect(cleaned(sent)).toBe(sent);
});
