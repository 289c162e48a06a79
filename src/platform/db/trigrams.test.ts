import { expect, test } from "vitest";
import { trigramsOf, trigramsOfWord } from "./trigrams.ts";

function mayHold(text: string, word: string): boolean {
  const bits = trigramsOf([Buffer.from(text)])!;
  const needed = trigramsOfWord(word);
  return needed === null || needed.every((byte, index) => (bits[index]! & byte) === byte);
}

test("a word that occurs is never passed over, whatever its case and place", () => {
  const text = JSON.stringify({
    question: 'Why does the "Zebrafish" swim?\n\\path/to.file',
    list: [1.5, "été"],
  });
  for (let start = 0; start < text.length; start++) {
    for (const length of [1, 2, 3, 5, 9]) {
      const word = text.slice(start, start + length).toUpperCase();
      if (/^[ -~]+$/.test(word)) expect(mayHold(text, word)).toBe(true);
    }
  }
});

test("most words that do not occur are", () => {
  const text = "the quick brown fox jumps over the lazy dog ".repeat(20);
  const words = ["zebrafish", "invoice", "kubernetes", "traceback", "malformed"];
  expect(words.filter((word) => mayHold(text, word))).toEqual([]);
});

test("a text too long to tell is not judged", () => {
  expect(trigramsOf([Buffer.alloc(70_000)])).toBeNull();
  expect(trigramsOf([null, Buffer.from("x")])).toEqual(Buffer.alloc(128));
});
