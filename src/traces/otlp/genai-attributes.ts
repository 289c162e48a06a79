import { type ChatMessage, fromParts, isObject, numbered, parsed } from "./genai-messages.ts";
import type { OtlpAttributes, OtlpSpan } from "./otlp-span.ts";
import { vercelInputs, vercelOutputs, vercelRunType, vercelUsageDetails } from "./vercel-attributes.ts";

const kinds: Record<string, string> = {
  llm: "llm",
  chat: "llm",
  completion: "llm",
  text_completion: "llm",
  generate_content: "llm",
  embedding: "embedding",
  embeddings: "embedding",
  tool: "tool",
  execute_tool: "tool",
  retriever: "retriever",
  reranker: "retriever",
  prompt: "prompt",
  parser: "parser",
};

/** The run type of a span, by any of the conventions. */
export function runTypeOf(attributes: OtlpAttributes): string {
  const vercel = attributes["langsmith.span.kind"] === undefined ? vercelRunType(attributes) : undefined;
  if (vercel !== undefined) return vercel;
  const named =
    attributes["langsmith.span.kind"] ??
    attributes["openinference.span.kind"] ??
    attributes["gen_ai.operation.name"] ??
    attributes["traceloop.span.kind"] ??
    attributes["llm.request.type"];
  if (typeof named === "string") return kinds[named.toLowerCase()] ?? "chain";
  const isModel =
    attributes["gen_ai.request.model"] ?? attributes["gen_ai.response.model"] ?? attributes["llm.model_name"];
  if (isModel !== undefined) return "llm";
  return attributes["gen_ai.tool.name"] === undefined ? "chain" : "tool";
}

/** What went in. The first convention that is present is taken. */
export function inputsOf(span: OtlpSpan): Record<string, unknown> {
  const { attributes } = span;
  return (
    asObject(
      attributes["langsmith.inputs"] ?? attributes["input.value"] ?? attributes["traceloop.entity.input"],
      "input",
    ) ??
    vercelInputs(attributes) ??
    messages(fromParts(parsed(attributes["gen_ai.input.messages"]))) ??
    messages(numbered(attributes, "gen_ai.prompt.")) ??
    messages(numbered(attributes, "llm.input_messages.")) ??
    messages(fromEvents(span, isInputEvent)) ??
    asObject(eventAttribute(span, "gen_ai.content.prompt", "gen_ai.prompt"), "input") ??
    asObject(
      attributes["gen_ai.prompt"] ??
        attributes["gen_ai.tool.call.arguments"] ??
        attributes["tool.parameters"],
      "input",
    ) ??
    messages(asked(fromParts(parsed(attributes["pydantic_ai.all_messages"])))) ??
    asObject(attributes.tool_arguments ?? attributes.request_data ?? attributes.prompt, "input") ??
    {}
  );
}

/** What came out. */
export function outputsOf(span: OtlpSpan): Record<string, unknown> {
  const { attributes } = span;
  return (
    asObject(
      attributes["langsmith.outputs"] ?? attributes["output.value"] ?? attributes["traceloop.entity.output"],
      "output",
    ) ??
    vercelOutputs(attributes) ??
    messages(fromParts(parsed(attributes["gen_ai.output.messages"]))) ??
    messages(numbered(attributes, "gen_ai.completion.")) ??
    messages(numbered(attributes, "llm.output_messages.")) ??
    messages(fromEvents(span, (name) => name === "gen_ai.choice")) ??
    asObject(eventAttribute(span, "gen_ai.content.completion", "gen_ai.completion"), "output") ??
    asObject(attributes["gen_ai.completion"] ?? attributes["gen_ai.tool.call.result"], "output") ??
    asObject(attributes.tool_response ?? attributes.response_data ?? attributes.final_result, "output") ??
    {}
  );
}

/** Tokens of this span alone. Sums over the spans below it are left out. */
export function usageOf(attributes: OtlpAttributes): Record<string, unknown> | undefined {
  const stated = parsed(attributes["langsmith.usage_metadata"]);
  if (isObject(stated)) return stated;
  const input = first(
    attributes,
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
  );
  const output = first(
    attributes,
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
  );
  const total = first(
    attributes,
    "gen_ai.usage.total_tokens",
    "llm.usage.total_tokens",
    "llm.token_count.total",
  );
  const cost = first(attributes, "gen_ai.usage.cost", "llm.cost.total", "operation.cost");
  if (input === undefined && output === undefined && total === undefined && cost === undefined)
    return undefined;
  const inputDetails = details({
    cache_read: cacheRead(attributes),
    cache_creation: cacheWritten(attributes),
  });
  const outputDetails = details({ reasoning: reasoning(attributes) });
  return {
    ...(input !== undefined && { input_tokens: input }),
    ...(output !== undefined && { output_tokens: output }),
    total_tokens: total ?? (input ?? 0) + (output ?? 0),
    ...(inputDetails && { input_token_details: inputDetails }),
    ...(outputDetails && { output_token_details: outputDetails }),
    ...(cost !== undefined && { total_cost: cost }),
  };
}

function cacheRead(attributes: OtlpAttributes): number | undefined {
  return (
    first(
      attributes,
      "gen_ai.usage.cache_read.input_tokens",
      "gen_ai.usage.cache_read_input_tokens",
      "gen_ai.usage.details.cache_read_tokens",
      "llm.token_count.prompt_details.cache_read",
    ) ??
    number(vercelUsageDetails(attributes).cached) ??
    number(rawUsage(attributes, "prompt_tokens_details", "cached_tokens"))
  );
}

function cacheWritten(attributes: OtlpAttributes): number | undefined {
  return first(
    attributes,
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_creation_input_tokens",
    "gen_ai.usage.details.cache_write_tokens",
    "llm.token_count.prompt_details.cache_write",
  );
}

function reasoning(attributes: OtlpAttributes): number | undefined {
  return (
    first(
      attributes,
      "gen_ai.usage.reasoning_tokens",
      "gen_ai.usage.details.reasoning_tokens",
      "llm.token_count.completion_details.reasoning",
    ) ??
    number(vercelUsageDetails(attributes).reasoning) ??
    number(rawUsage(attributes, "completion_tokens_details", "reasoning_tokens"))
  );
}

/** The provider's own block, as Logfire passes it on. */
function rawUsage(attributes: OtlpAttributes, block: string, name: string): unknown {
  const usage = parsed(attributes["gen_ai.usage.raw"]);
  const found = isObject(usage) ? usage[block] : undefined;
  return isObject(found) ? found[name] : undefined;
}

function details(found: Record<string, number | undefined>): Record<string, number> | undefined {
  const known = Object.entries(found).filter((pair): pair is [string, number] => pair[1] !== undefined);
  return known.length > 0 ? Object.fromEntries(known) : undefined;
}

export function modelOf(attributes: OtlpAttributes): { ls_model_name?: string; ls_provider?: string } {
  const name =
    attributes["gen_ai.response.model"] ?? attributes["gen_ai.request.model"] ?? attributes["llm.model_name"];
  const provider =
    attributes["gen_ai.provider.name"] ??
    attributes["gen_ai.system"] ??
    attributes["llm.provider"] ??
    attributes["llm.system"];
  return {
    ...(typeof name === "string" && { ls_model_name: name }),
    // The Vercel AI SDK names the API too: openai.chat.
    ...(typeof provider === "string" && { ls_provider: provider.toLowerCase().split(".")[0]! }),
  };
}

/** What the model was asked with besides the messages. */
export function invocationOf(attributes: OtlpAttributes): Record<string, unknown> {
  const prefix = "gen_ai.request.";
  const asked = Object.entries(attributes).filter(([name]) => name.startsWith(prefix));
  const stated = parsed(attributes["llm.invocation_parameters"]);
  return {
    ...(isObject(stated) ? stated : {}),
    ...Object.fromEntries(asked.map(([name, value]) => [name.slice(prefix.length), value])),
  };
}

function isInputEvent(name: string): boolean {
  return /^gen_ai\.(system|user|assistant|tool)\.message$/.test(name);
}

function fromEvents(span: OtlpSpan, wanted: (name: string) => boolean): unknown[] | undefined {
  const found = span.events.filter((event) => wanted(event.name));
  if (found.length === 0) return undefined;
  return found.map((event) => ({
    role: /^gen_ai\.(\w+)\.message$/.exec(event.name)?.[1] ?? "assistant",
    ...Object.fromEntries(
      Object.entries(event.attributes).map(([name, value]) => [name.replace(/^gen_ai\./, ""), parsed(value)]),
    ),
  }));
}

function eventAttribute(span: OtlpSpan, event: string, attribute: string): unknown {
  return span.events.find((each) => each.name === event)?.attributes[attribute];
}

/** Of a whole conversation, what came before its last answer. */
function asked(list: ChatMessage[] | undefined): ChatMessage[] | undefined {
  return list?.at(-1)?.role === "assistant" ? list.slice(0, -1) : list;
}

function messages(list: unknown): Record<string, unknown> | undefined {
  return Array.isArray(list) ? { messages: list } : undefined;
}

function asObject(value: unknown, key: string): Record<string, unknown> | undefined {
  if (value === undefined || value === null) return undefined;
  const content = parsed(value);
  return isObject(content) ? content : { [key]: content };
}

function first(attributes: OtlpAttributes, ...names: string[]): number | undefined {
  for (const name of names) {
    const value = number(attributes[name]);
    if (value !== undefined) return value;
  }
  return undefined;
}

function number(given: unknown): number | undefined {
  const value = Number(given ?? Number.NaN);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}
