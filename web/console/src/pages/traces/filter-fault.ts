import type { FilterFault } from "./trace.ts";

type FaultSaid = Pick<FilterFault, "problem" | "expected" | "found" | "choices">;

/** More choices than this are no help in one line. */
const mostListed = 14;

/** What is wrong with a filter in one line; for a misspelt word, the one that was meant. */
export function faultWords({ problem, expected, found, choices }: FaultSaid): string {
  if (expected === null) return problem;
  const meant = nearest(found ?? "", choices ?? []);
  if (meant) return `${problem} Did you mean ${meant}?`;
  return choices !== null && choices.length > mostListed
    ? `${problem} What there is shows up as you type.`
    : `${problem} Expected ${expected}.`;
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
