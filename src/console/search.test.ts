import { expect, test } from "vitest";
import { idRange } from "./search.ts";

test("the beginning of an id is every id that begins so", () => {
  expect(idRange("0198A000")).toEqual({
    from: "0198a000-0000-0000-0000-000000000000",
    to: "0198a000-ffff-ffff-ffff-ffffffffffff",
  });
  const whole = "0198a000-0000-7000-8000-00000000abcd";
  expect(idRange(whole)).toEqual({ from: whole, to: whole });
});

test("words and short numbers are no ids", () => {
  for (const text of ["weather", "12345", "cafe", "", `${"a".repeat(33)}`]) expect(idRange(text)).toBeNull();
});
