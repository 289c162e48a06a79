import { describe, expect, test } from "vitest";
import { priceTable } from "./model-prices.ts";
import { readModel, readUsage, withCosts } from "./usage.ts";

const priceOf = priceTable();
const read = (outputs: unknown, extra: unknown = {}, runType = "llm") =>
  readUsage({ runType, outputs, extra });

describe("readUsage", () => {
  test.each([
    ["usage_metadata", { usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } }],
    ["a provider's usage", { usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } }],
    [
      "the message of a generation",
      { generations: [[{ message: { kwargs: { usage_metadata: { input_tokens: 3, output_tokens: 4 } } } }]] },
    ],
    ["llm_output", { llm_output: { token_usage: { prompt_tokens: 3, completion_tokens: 4 } } }],
    ["llmOutput", { llmOutput: { tokenUsage: { promptTokens: 3, completionTokens: 4, totalTokens: 7 } } }],
  ])("finds %s", (_name, outputs) => {
    expect(read(outputs)).toMatchObject({ promptTokens: 3, completionTokens: 4, totalTokens: 7 });
  });

  test("metadata goes before outputs, and chains do not count what they pass on", () => {
    const extra = { metadata: { usage_metadata: { input_tokens: 1, output_tokens: 1 } } };
    expect(read({ usage_metadata: { input_tokens: 9 } }, extra)).toMatchObject({ totalTokens: 2 });
    expect(read({ usage_metadata: { input_tokens: 9 } }, extra, "chain")).toBeUndefined();
    expect(read({}, { metadata: { usage_metadata: { total_cost: 0.2 } } }, "tool")).toMatchObject({
      totalCost: "0.2",
    });
  });

  test.each([
    null,
    [],
    "x",
    { usage: "x" },
    { usage: {} },
    { usage_metadata: { input_tokens: -1 } },
    { usage: { prompt_tokens: Number.NaN } },
  ])("nothing in %j", (outputs) => {
    expect(read(outputs)).toBeUndefined();
  });
});

describe("costs", () => {
  const usage = read({
    usage_metadata: {
      input_tokens: 1_000_000,
      output_tokens: 1_000_000,
      input_token_details: { cache_read: 500_000 },
    },
  })!;

  test("follow from provider and model, cached tokens at their own price", () => {
    const priced = withCosts(usage, { provider: "openai", name: "gpt-4o-2024-08-06" }, priceOf);
    expect(priced).toMatchObject({ promptCost: "1.875", completionCost: "10" });
    expect(priced.totalCost).toBe("11.875");
  });

  test("stay unknown for unknown models; stated costs stand", () => {
    expect(withCosts(usage, { provider: "openai", name: "my-own" }, priceOf).totalCost).toBeNull();
    const stated = read({
      usage_metadata: { input_tokens: 1, output_tokens: 1, input_cost: "0.25", output_cost: 0.5 },
    })!;
    expect(withCosts(stated, { provider: "openai", name: "gpt-4o" }, priceOf)).toMatchObject({
      promptCost: "0.25",
      completionCost: "0.5",
      totalCost: "0.75",
    });
  });

  test("the model's name is found under metadata and invocation parameters", () => {
    expect(
      readModel({
        metadata: { ls_provider: "openai", ls_model_name: "a" },
        invocation_params: { model: "b" },
      }),
    ).toEqual({ provider: "openai", name: "a" });
    expect(readModel({ invocation_params: { model_name: "b" } })).toEqual({ provider: null, name: "b" });
    expect(readModel({})).toBeUndefined();
    expect(priceOf(null, "openai/gpt-4o-mini")).toEqual(priceOf("azure", "gpt-4o-mini"));
    expect(priceOf("anthropic", "gpt-4o")).toBeUndefined();
    expect(priceOf("openai", "gpt-5.2-codex")?.output).toBe(14);
    expect(priceOf("openai", "gpt-5-2025-08-07")?.output).toBe(10);
    expect(priceOf("openai", "gpt-5.9")).toBeUndefined();
    expect(priceOf("anthropic", "claude-opus-4-20250514")?.input).toBe(15);
    expect(priceOf("anthropic", "claude-opus-4-5-20251101")?.input).toBe(5);
    expect(priceOf("anthropic", "claude-opus-5-5")).toBeUndefined();
  });
});
