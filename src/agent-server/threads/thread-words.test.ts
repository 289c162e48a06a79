import { describe, expect, it } from "vitest";
import { likePattern, wordBitsOf, wordsOf } from "./thread-words.ts";

describe("words of a search", () => {
  it("are what stands between spaces", () => {
    expect(wordsOf("  history of\tlooms ")).toEqual(["history", "of", "looms"]);
    expect(wordsOf("   ")).toEqual([]);
  });

  it("are looked for as JSON writes them, and mean nothing else to the database", () => {
    expect(likePattern("loom")).toBe("%loom%");
    expect(likePattern("50%_")).toBe("%50\\%\\_%");
    // A quote is written with a backslash, which the pattern escapes once more.
    expect(likePattern('"a')).toBe('%\\\\"a%');
  });
});

it("a thread keeps one bit for each group of letters, and none when it is too long to tell", () => {
  expect(wordBitsOf(null)).toBe(`x${"00".repeat(128)}`);
  const bits = wordBitsOf('{"a":"loom"}')!;
  expect(bits).toHaveLength(257);
  expect(bits).toBe(wordBitsOf('{"a":"LOOM"}'));
  expect(wordBitsOf("x".repeat(70_000))).toBeNull();
});
