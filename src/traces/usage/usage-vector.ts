import { type Cost, readCost, writeCost } from "./cost.ts";
import type { RunUsage } from "./usage.ts";

/**
 * What a run spent itself, as `trace_runs.usage` holds it: prompt, completion and total tokens, then prompt, completion
 * and total cost. A null cost is unknown. Where the client did not state the costs, two more numbers count how many of
 * the prompt's tokens were read from and written to a cache, so that a model named later gives them their price.
 */
export type UsageVector = readonly [
  number,
  number,
  number,
  Cost | null,
  Cost | null,
  Cost | null,
  ...cached: number[],
];

export function usageVector(usage: RunUsage, isStated: boolean): UsageVector {
  const { promptTokens, completionTokens, totalTokens, promptCost, completionCost, totalCost } = usage;
  const cached = isStated ? [] : [usage.cacheReadTokens, usage.cacheWriteTokens];
  const costs = [readCost(promptCost), readCost(completionCost), readCost(totalCost)] as const;
  return [promptTokens, completionTokens, totalTokens, ...costs, ...cached];
}

/** Back again, without the costs, when they were not stated by the client; else undefined. */
export function unpricedUsage([prompt, completion, total, , , , ...cached]: UsageVector):
  | RunUsage
  | undefined {
  const [cacheReadTokens, cacheWriteTokens] = cached;
  if (cacheReadTokens === undefined || cacheWriteTokens === undefined) return undefined;
  return {
    promptTokens: prompt,
    completionTokens: completion,
    totalTokens: total,
    promptCost: null,
    completionCost: null,
    totalCost: null,
    cacheReadTokens,
    cacheWriteTokens,
  };
}

/** From the texts of the database's decimals. */
export function readUsageVector(texts: readonly (string | null)[]): UsageVector {
  const number = (index: number) => Number(texts[index] ?? 0);
  const cost = (index: number) => readCost(texts[index] ?? null);
  return [number(0), number(1), number(2), cost(3), cost(4), cost(5), ...texts.slice(6).map(Number)];
}

export function usageTexts(usage: readonly (number | Cost | null)[]): (string | null)[] {
  return usage.map((each) => (typeof each === "bigint" ? writeCost(each) : (each?.toString() ?? null)));
}

export function sameUsage(one: UsageVector | null, other: UsageVector | null): boolean {
  if (one === null || other === null) return one === other;
  return one.length === other.length && one.every((each, index) => each === other[index]);
}
