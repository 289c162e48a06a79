import type { FilterFault } from "./trace.ts";

/** What is wrong with a filter in one line; for a misspelt word, the one that was meant. */
export function faultWords({ message, expected }: FilterFault): string {
  const what = message.split(/ Expected | \(line \d/)[0]!.trim();
  if (expected === null) return what;
  const words = expected.startsWith("one of ") ? expected.slice("one of ".length).split(", ") : [];
  const wrong = /"([^"]+)"|operator (\w+)/.exec(what);
  const meant = nearest(wrong?.[1] ?? wrong?.[2] ?? "", words);
  if (meant) return `${what} Did you mean ${meant}?`;
  return words.length > 14 ? `${what} What there is shows up as you type.` : `${what} Expected ${expected}.`;
}

function nearest(word: string, words: readonly string[]): string | undefined {
  if (word === "") return undefined;
  const [best] = words
    .map((each) => ({ each, distance: distanceOf(word.toLowerCase(), each) }))
    .sort((one, other) => one.distance - other.distance);
  return best && best.distance <= Math.max(1, Math.floor(word.length / 3)) ? best.each : undefined;
}

/** Letters to add, drop, replace or swap. */
function distanceOf(one: string, other: string): number {
  const rows = Array.from({ length: one.length + 1 }, (_, i) => [i]);
  for (let j = 1; j <= other.length; j++) rows[0]![j] = j;
  for (let i = 1; i <= one.length; i++) {
    for (let j = 1; j <= other.length; j++) {
      const cost = one[i - 1] === other[j - 1] ? 0 : 1;
      const swapped =
        i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
          ? rows[i - 2]![j - 2]! + 1
          : Number.POSITIVE_INFINITY;
      rows[i]![j] = Math.min(
        rows[i - 1]![j]! + 1,
        rows[i]![j - 1]! + 1,
        rows[i - 1]![j - 1]! + cost,
        swapped,
      );
    }
  }
  return rows[one.length]![other.length]!;
}
