import { costOf, readCost, writeCost } from "./cost.ts";
import type { ModelPrice, PriceOf } from "./model-prices.ts";

/** Costs are decimal text. Null costs are unknown, not free. */
export type RunUsage = {
  promptTokens: number;
  completionTokens: number;
  totalTokens: number;
  promptCost: string | null;
  completionCost: string | null;
  totalCost: string | null;
  /** Parts of the prompt that providers bill at other rates. */
  cacheReadTokens: number;
  cacheWriteTokens: number;
};

type Node = Record<string, unknown>;

/**
 * Whether a run of this type has usage of its own. Chains, prompts and parsers often pass on the answer of a model
 * below them, including its usage; counting it would count it twice.
 */
export function countsUsage(runType: string): boolean {
  return runType !== "chain" && runType !== "prompt" && runType !== "parser";
}

/** The usage a run reports, in any of the places where libraries put it. */
export function readUsage(input: {
  runType: string | undefined;
  outputs: unknown;
  extra: unknown;
}): RunUsage | undefined {
  if (input.runType !== undefined && !countsUsage(input.runType)) return undefined;
  const metadata = objectAt(objectAt(input.extra, "metadata"), "usage_metadata");
  const block = metadata ?? findUsageBlock(input.outputs);
  return block && usageOf(block);
}

function findUsageBlock(outputs: unknown): Node | undefined {
  if (!isNode(outputs)) return undefined;
  const direct = objectAt(outputs, "usage_metadata") ?? objectAt(outputs, "usage");
  if (direct) return direct;
  const output = objectAt(outputs, "output") ?? objectAt(outputs, "message");
  const ofOutput = output && (objectAt(output, "usage_metadata") ?? objectAt(output, "usage"));
  if (ofOutput) return ofOutput;
  const generation = firstGeneration(outputs.generations);
  const message = objectAt(generation, "message");
  const fromMessage =
    objectAt(objectAt(message, "kwargs"), "usage_metadata") ?? objectAt(message, "usage_metadata");
  if (fromMessage) return fromMessage;
  const llmOutput = objectAt(outputs, "llm_output") ?? objectAt(outputs, "llmOutput");
  return (
    objectAt(llmOutput, "token_usage") ?? objectAt(llmOutput, "tokenUsage") ?? objectAt(llmOutput, "usage")
  );
}

function firstGeneration(value: unknown): unknown {
  const first = Array.isArray(value) ? value[0] : undefined;
  return Array.isArray(first) ? first[0] : first;
}

function usageOf(block: Node): RunUsage | undefined {
  const inputDetails = objectAt(block, "input_token_details") ?? objectAt(block, "prompt_tokens_details");
  const prompt = numberIn(block, "input_tokens", "prompt_tokens", "inputTokens", "promptTokens");
  const completion = numberIn(
    block,
    "output_tokens",
    "completion_tokens",
    "outputTokens",
    "completionTokens",
  );
  const total = numberIn(block, "total_tokens", "totalTokens");
  const promptCost = costIn(block, "input_cost", "prompt_cost");
  const completionCost = costIn(block, "output_cost", "completion_cost");
  const totalCost = costIn(block, "total_cost");
  if ([prompt, completion, total, promptCost, completionCost, totalCost].every((each) => each === null))
    return undefined;
  const promptTokens = prompt ?? Math.max(0, (total ?? 0) - (completion ?? 0));
  const completionTokens = completion ?? Math.max(0, (total ?? 0) - promptTokens);
  return {
    promptTokens,
    completionTokens,
    totalTokens: total ?? promptTokens + completionTokens,
    promptCost,
    completionCost,
    totalCost: totalCost ?? sumOfCosts(promptCost, completionCost),
    cacheReadTokens: numberIn(inputDetails, "cache_read", "cached_tokens") ?? 0,
    cacheWriteTokens: numberIn(inputDetails, "cache_creation") ?? 0,
  };
}

function sumOfCosts(...costs: (string | null)[]): string | null {
  const known = costs.map(readCost).filter((cost) => cost !== null);
  return known.length === 0 ? null : writeCost(known.reduce((sum, cost) => sum + cost, 0n));
}

export type Model = { provider: string | null; name: string };

/** Costs a client stated stand; the others follow from the price of the model, where it is known. */
export function withCosts(usage: RunUsage, model: Model | undefined, priceOf: PriceOf): RunUsage {
  if (usage.totalCost !== null || model === undefined) return usage;
  const price = priceOf(model.provider, model.name);
  return price ? priced(usage, price) : usage;
}

function priced(usage: RunUsage, price: ModelPrice): RunUsage {
  const { cacheReadTokens, cacheWriteTokens } = usage;
  const plain = Math.max(0, usage.promptTokens - cacheReadTokens - cacheWriteTokens);
  const promptCost =
    costOf(plain, price.input) +
    costOf(cacheReadTokens, price.cacheRead ?? price.input) +
    costOf(cacheWriteTokens, price.cacheWrite ?? price.input);
  const completionCost = costOf(usage.completionTokens, price.output);
  return {
    ...usage,
    promptCost: writeCost(promptCost),
    completionCost: writeCost(completionCost),
    totalCost: writeCost(promptCost + completionCost),
  };
}

/** Which model answered: the standard metadata first, then what was asked for. */
export function readModel(extra: unknown): Model | undefined {
  const metadata = objectAt(extra, "metadata");
  const invocation = objectAt(extra, "invocation_params") ?? objectAt(metadata, "invocation_params");
  const name =
    textIn(metadata, "ls_model_name") ?? textIn(invocation, "model") ?? textIn(invocation, "model_name");
  return name === null ? undefined : { provider: textIn(metadata, "ls_provider"), name };
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectAt(value: unknown, key: string): Node | undefined {
  const inner = isNode(value) ? value[key] : undefined;
  return isNode(inner) ? inner : undefined;
}

const maxTokens = 1e12;

function numberIn(node: Node | undefined, ...keys: string[]): number | null {
  for (const key of keys) {
    const value = node?.[key];
    if (typeof value === "number" && Number.isFinite(value) && value >= 0)
      return Math.min(Math.round(value), maxTokens);
  }
  return null;
}

function costIn(node: Node, ...keys: string[]): string | null {
  for (const key of keys) {
    const cost = readCost(node[key]);
    if (cost !== null) return writeCost(cost);
  }
  return null;
}

function textIn(node: Node | undefined, key: string): string | null {
  const value = node?.[key];
  return typeof value === "string" && value !== "" ? value : null;
}
