import { describe, expect, it } from "vitest";
import { bodyOf, callOfRun, providerOf } from "./playground-call.ts";

const messages = [
  [
    { id: ["langchain", "SystemMessage"], kwargs: { content: "Be brief." } },
    { type: "human", content: "Hi" },
    { type: "ai", content: "", tool_calls: [{ id: "1", name: "look", args: {} }] },
    { type: "tool", content: "found", tool_call_id: "1" },
  ],
];

describe("what a model was called with", () => {
  it("messages, model, temperature and tools become fields, and those a request again", () => {
    const tools = [{ type: "function", function: { name: "look" } }];
    const draft = callOfRun({
      inputs: { messages },
      extra: {
        metadata: {
          ls_provider: "openai",
          ls_model_name: "gpt-5",
          ls_temperature: 0.3,
          invocation_params: { tools },
        },
      },
    });
    expect(draft).toMatchObject({ model: "openai/gpt-5", temperature: "0.3" });
    expect(draft.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool"]);
    expect(bodyOf(draft)).toEqual({
      model: "openai/gpt-5",
      temperature: 0.3,
      tools,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hi" },
        { role: "assistant", content: "", tool_calls: [{ id: "1", name: "look", args: {} }] },
        { role: "tool", content: "found", tool_call_id: "1" },
      ],
    });
  });

  it("a content of several blocks is edited as JSON", () => {
    const content = [{ type: "text", text: "Hi" }];
    const draft = callOfRun({ inputs: { messages: [{ role: "user", content }] }, extra: null });
    expect(draft).toMatchObject({ model: "offline", messages: [{ isJson: true }] });
    expect(bodyOf(draft)).toMatchObject({ messages: [{ role: "user", content }] });
    const broken = { ...draft, messages: [{ ...draft.messages[0]!, text: "[" }] };
    expect(bodyOf(broken)).toEqual({ problem: "Message 1 is not valid JSON." });
  });

  it.each([
    ["claude-sonnet-4-5", undefined, "anthropic/claude-sonnet-4-5"],
    ["gemini-2.5-flash", "google_genai", "google/gemini-2.5-flash"],
    ["gpt-4o", "azure", "openai/gpt-4o"],
  ])("%s of %s is %s", (ls_model_name, ls_provider, model) => {
    expect(callOfRun({ inputs: {}, extra: { metadata: { ls_model_name, ls_provider } } }).model).toBe(model);
  });

  it("a field that is wrong is named", () => {
    const draft = { model: "offline", temperature: "", tools: "", messages: [] };
    expect(bodyOf(draft)).toEqual({ problem: "A model needs at least one message." });
    expect(bodyOf({ ...draft, temperature: "hot" })).toHaveProperty("problem");
    expect(bodyOf({ ...draft, tools: "{}" })).toHaveProperty("problem");
    expect([providerOf("openai/gpt-5"), providerOf("offline")]).toEqual(["openai", null]);
  });
});
