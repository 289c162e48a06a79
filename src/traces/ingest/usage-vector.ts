import type { RunUsage } from "./usage.ts";

/**
 * Prompt, completion and total tokens, then prompt, completion and total cost, as `trace_runs.usage` holds
 * them. A null cost is unknown.
 */
export type UsageVector = readonly [number, number, number, number | null, number | null, number | null];

export const noUsage: UsageVector = [0, 0, 0, null, null, null];

export function usageVector(usage: RunUsage): UsageVector {
  const { promptTokens, completionTokens, totalTokens, promptCost, completionCost, totalCost } = usage;
  return [promptTokens, completionTokens, totalTokens, promptCost, completionCost, totalCost];
}

export function addUsage(one: UsageVector, other: UsageVector): UsageVector {
  return combine(one, other, 1);
}

export function subtractUsage(one: UsageVector, other: UsageVector): UsageVector {
  return combine(one, other, -1);
}

export function isNoUsage(usage: UsageVector): boolean {
  return usage.every((each) => each === 0 || each === null);
}

function combine(one: UsageVector, other: UsageVector, sign: 1 | -1): UsageVector {
  const cost = (a: number | null, b: number | null) =>
    a === null && b === null ? null : (a ?? 0) + sign * (b ?? 0);
  return [
    one[0] + sign * other[0],
    one[1] + sign * other[1],
    one[2] + sign * other[2],
    cost(one[3], other[3]),
    cost(one[4], other[4]),
    cost(one[5], other[5]),
  ];
}
