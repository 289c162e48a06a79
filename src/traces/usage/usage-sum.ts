import { type Cost, readCost } from "./cost.ts";
import type { UsageVector } from "./usage-vector.ts";

/**
 * What several runs spent: three counts of tokens, three costs, and of how many runs each cost is known. With the last
 * three, a sum can be reduced again: an unknown cost is not the same as no cost.
 */
export type UsageSum = readonly [number, number, number, Cost, Cost, Cost, number, number, number];

export const noSum: UsageSum = [0, 0, 0, 0n, 0n, 0n, 0, 0, 0];

export function sumOf(usage: UsageVector | null): UsageSum {
  if (usage === null) return noSum;
  const [prompt, completion, total, ...costs] = usage;
  const [promptCost, completionCost, totalCost] = costs as [Cost | null, Cost | null, Cost | null];
  const known = (cost: Cost | null) => (cost === null ? 0 : 1);
  return [
    prompt,
    completion,
    total,
    promptCost ?? 0n,
    completionCost ?? 0n,
    totalCost ?? 0n,
    known(promptCost),
    known(completionCost),
    known(totalCost),
  ];
}

export function addSums(one: UsageSum, other: UsageSum): UsageSum {
  if (isNothing(one)) return other;
  if (isNothing(other)) return one;
  return [
    one[0] + other[0],
    one[1] + other[1],
    one[2] + other[2],
    one[3] + other[3],
    one[4] + other[4],
    one[5] + other[5],
    one[6] + other[6],
    one[7] + other[7],
    one[8] + other[8],
  ];
}

export function negative(sum: UsageSum): UsageSum {
  const [a, b, c, d, e, f, g, h, i] = sum;
  return [-a, -b, -c, -d, -e, -f, -g, -h, -i];
}

export function isNothing(sum: UsageSum): boolean {
  // Minus nothing is nothing, too.
  return sum === noSum || sum.every((each) => each === 0n || Number(each) === 0);
}

/** As a run shows it: tokens, and costs that are null where none is known. */
export function totalsOf(sum: UsageSum): UsageVector {
  const cost = (at: 3 | 4 | 5) => (sum[(at + 3) as 6 | 7 | 8] > 0 ? sum[at] : null);
  return [sum[0] + 0, sum[1] + 0, sum[2] + 0, cost(3), cost(4), cost(5)];
}

/** From the texts of the database's decimals; null is nothing. */
export function readSum(texts: readonly string[] | null): UsageSum {
  if (texts === null) return noSum;
  const number = (index: number) => Number(texts[index] ?? 0);
  const cost = (index: number) => signedCost(texts[index] ?? "0");
  return [number(0), number(1), number(2), cost(3), cost(4), cost(5), number(6), number(7), number(8)];
}

/** What waits for an ancestor may be less than nothing. */
function signedCost(text: string): Cost {
  return text.startsWith("-") ? -(readCost(text.slice(1)) ?? 0n) : (readCost(text) ?? 0n);
}
