import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readOtlpJson } from "./otlp-json.ts";
import { readOtlpProtobuf } from "./otlp-protobuf.ts";
import { spanToRun, spanTree } from "./otlp-run.ts";

/** What the libraries themselves sent, recorded by tests/fixtures/otlp/record.mjs. */
function recorded(file: string): Record<string, unknown>[] {
  const bytes = readFileSync(new URL(`../../../tests/fixtures/otlp/${file}`, import.meta.url));
  const spans = file.endsWith(".json") ? readOtlpJson(JSON.parse(bytes.toString())) : readOtlpProtobuf(bytes);
  const tree = spanTree(spans);
  return spans.map((span) => spanToRun(span, tree, () => undefined).record);
}

const system = { role: "system", content: "Be brief." };
const question = { role: "user", content: "How cold is it in Oslo?" };
const called = {
  role: "assistant",
  tool_calls: [
    { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
  ],
};
const answer = { role: "assistant", content: "It is 4 degrees in Oslo." };
const usage_metadata = {
  input_tokens: 21,
  output_tokens: 7,
  total_tokens: 28,
  input_token_details: { cache_read: 5 },
  output_token_details: { reasoning: 2 },
};

describe("the Vercel AI SDK 5", () => {
  const runs = recorded("vercel-ai.json");

  test("calls of the model say what they were asked and what they answered", () => {
    const [first, , second] = runs;
    expect(first).toMatchObject({
      name: "ai.generateText.doGenerate",
      run_type: "llm",
      inputs: { messages: [system, question], tools: [{ name: "weather" }] },
      outputs: {
        messages: [called],
        usage_metadata: { input_tokens: 21, output_tokens: 7, total_tokens: 28 },
      },
      extra: { metadata: { ls_model_name: "gpt-4o-mini", ls_provider: "openai" } },
    });
    expect(second).toMatchObject({
      inputs: {
        messages: [
          system,
          question,
          called,
          { role: "tool", tool_call_id: "call_1", name: "weather", content: '{"city":"Oslo","degrees":4}' },
        ],
      },
      outputs: { messages: [answer] },
    });
  });

  test("tools are tools, by their own names", () => {
    expect(runs[1]).toMatchObject({
      name: "weather",
      run_type: "tool",
      inputs: { city: "Oslo" },
      outputs: { city: "Oslo", degrees: 4 },
    });
  });

  test("the whole is named by its function, and counts no token twice", () => {
    const root = runs[3]!;
    expect(root).toMatchObject({
      name: "ask-weather",
      run_type: "chain",
      inputs: { system: "Be brief.", prompt: "How cold is it in Oslo?" },
      tags: ["recorded"],
      extra: { metadata: { userId: "ada", thread_id: "thread-1" } },
    });
    expect(root.outputs).toEqual({ messages: [answer] });
  });

  test("streams too, with the tokens of the cache and of reasoning", () => {
    expect(runs[4]).toMatchObject({
      run_type: "llm",
      inputs: { messages: [{ role: "user", content: "Hello" }] },
      outputs: { messages: [answer], usage_metadata },
    });
  });
});

test("OpenInference: the request and the answer, and all tokens", () => {
  const [first, second] = recorded("openinference.pb");
  expect(first).toMatchObject({
    run_type: "llm",
    inputs: { messages: [system, question] },
    outputs: { choices: [{ message: called }], usage_metadata },
    extra: { metadata: { ls_model_name: "gpt-4o-mini", ls_provider: "openai" } },
  });
  expect(second).toMatchObject({ outputs: { choices: [{ message: answer }] } });
});

test.each(["openllmetry.pb", "logfire.pb"])("%s: messages as chat models write them", (file) => {
  const [first, second] = recorded(file);
  expect(first).toMatchObject({
    run_type: "llm",
    inputs: { messages: [system, question] },
    outputs: { messages: [called], usage_metadata },
    extra: { metadata: { ls_model_name: "gpt-4o-mini", ls_provider: "openai" } },
  });
  const result = { role: "tool", tool_call_id: "call_1", content: '{"degrees": 4}' };
  expect(second).toMatchObject({
    inputs: { messages: [system, question, called, result] },
    outputs: { messages: [answer] },
  });
});

test("Logfire: the name with its values, its tags, its cost, and nothing of its own bookkeeping", () => {
  const [first] = recorded("logfire.pb");
  expect(first).toMatchObject({
    name: "Chat Completion with 'gpt-4o-mini'",
    tags: ["LLM"],
    outputs: { usage_metadata: { total_cost: 0.000006975 } },
  });
  const { metadata } = first!.extra as { metadata: Record<string, unknown> };
  expect(Object.keys(metadata).filter((name) => name.startsWith("logfire."))).toEqual([]);
});

test("Pydantic AI over Logfire: the agent, its calls and its tool", () => {
  const [first, tool, , agent] = recorded("pydantic-ai.pb");
  expect(first).toMatchObject({ run_type: "llm", outputs: { messages: [called], usage_metadata } });
  expect(tool).toMatchObject({
    run_type: "tool",
    inputs: { city: "Oslo" },
    outputs: { city: "Oslo", degrees: 4 },
  });
  expect(agent).toMatchObject({
    run_type: "chain",
    inputs: { messages: [system, question, called, { role: "tool", tool_call_id: "call_1" }] },
    outputs: { output: "It is 4 degrees in Oslo." },
  });
  expect(agent!.outputs).not.toHaveProperty("usage_metadata");
});

describe("attributes with numbers", () => {
  const span = (attributes: Record<string, unknown>) => ({
    traceId: "a".repeat(32),
    spanId: "b".repeat(16),
    parentSpanId: "",
    name: "s",
    startNanos: 1_000_000n,
    endNanos: 2_000_000n,
    attributes,
    resource: {},
    events: [],
    statusCode: 0,
    statusMessage: "",
  });
  const runOf = (attributes: Record<string, unknown>) => {
    const one = span(attributes);
    return spanToRun(one, spanTree([one]), () => undefined).record;
  };

  test("nested calls of tools become lists, however they are written", () => {
    const openInference = runOf({
      "openinference.span.kind": "LLM",
      "llm.output_messages.0.message.role": "assistant",
      "llm.output_messages.0.message.tool_calls.0.tool_call.id": "call_1",
      "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
      "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": '{"city":"Oslo"}',
    });
    expect(openInference.outputs).toEqual({ messages: [called] });
    const older = runOf({
      "llm.request.type": "chat",
      "gen_ai.completion.0.role": "assistant",
      "gen_ai.completion.0.tool_calls.0.id": "call_1",
      "gen_ai.completion.0.tool_calls.0.name": "weather",
      "gen_ai.completion.0.tool_calls.0.arguments": '{"city":"Oslo"}',
    });
    expect(older.outputs).toEqual({ messages: [called] });
  });

  test("langsmith.usage_metadata is taken as it is", () => {
    const stated = { input_tokens: 3, output_tokens: 4, total_tokens: 7, input_token_details: { audio: 1 } };
    const run = runOf({
      "langsmith.span.kind": "llm",
      "langsmith.usage_metadata": JSON.stringify(stated),
      "gen_ai.usage.input_tokens": 99,
    });
    expect(run.outputs).toEqual({ usage_metadata: stated });
    expect((run.extra as { metadata: object }).metadata).not.toHaveProperty("langsmith.usage_metadata");
  });

  test("numbers that jump, names that clash and names of the language do no harm", () => {
    const run = runOf({
      "gen_ai.prompt.9999.tool_calls.9999.name": "far",
      "gen_ai.prompt.9999.tool_calls.length": "many",
      "gen_ai.prompt.0.content": "near",
      "gen_ai.prompt.0.content.deeper": "below a text",
      "gen_ai.prompt.1.__proto__.polluted": "yes",
      "gen_ai.prompt.1.constructor.name": "x",
    });
    expect(JSON.stringify(run.inputs).length).toBeLessThan(400);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
