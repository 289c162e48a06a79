import { isJsonTooDeep } from "../../platform/json-depth.ts";
import type { OtlpAttributes, OtlpSpan } from "./otlp-span.ts";

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

/** The type of run a span stands for, by whichever convention it follows. */
export function runTypeOf(attributes: OtlpAttributes): string {
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

/** What went in. The first convention that says something is taken. */
export function inputsOf(span: OtlpSpan): Record<string, unknown> {
  const { attributes } = span;
  return (
    asObject(
      attributes["langsmith.inputs"] ?? attributes["input.value"] ?? attributes["traceloop.entity.input"],
      "input",
    ) ??
    messages(parsed(attributes["gen_ai.input.messages"])) ??
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
    messages(parsed(attributes["gen_ai.output.messages"])) ??
    messages(numbered(attributes, "gen_ai.completion.")) ??
    messages(numbered(attributes, "llm.output_messages.")) ??
    messages(fromEvents(span, (name) => name === "gen_ai.choice")) ??
    asObject(eventAttribute(span, "gen_ai.content.completion", "gen_ai.completion"), "output") ??
    asObject(attributes["gen_ai.completion"] ?? attributes["gen_ai.tool.call.result"], "output") ??
    asObject(attributes.tool_response ?? attributes.response_data ?? attributes.final_result, "output") ??
    {}
  );
}

export function usageOf(attributes: OtlpAttributes): Record<string, number> | undefined {
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
  const cost = first(attributes, "gen_ai.usage.cost", "llm.cost.total");
  if (input === undefined && output === undefined && total === undefined && cost === undefined)
    return undefined;
  return {
    ...(input !== undefined && { input_tokens: input }),
    ...(output !== undefined && { output_tokens: output }),
    total_tokens: total ?? (input ?? 0) + (output ?? 0),
    ...(cost !== undefined && { total_cost: cost }),
  };
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
    ...(typeof provider === "string" && { ls_provider: provider.toLowerCase() }),
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

/** `prefix0.role`, `prefix0.content`, `prefix1.role` … as a list of objects. */
function numbered(attributes: OtlpAttributes, prefix: string): unknown[] | undefined {
  const items: Record<string, unknown>[] = [];
  for (const [name, value] of Object.entries(attributes)) {
    if (!name.startsWith(prefix)) continue;
    const match = /^(\d{1,4})\.(?:message\.)?(.+)$/.exec(name.slice(prefix.length));
    if (!match) continue;
    const index = Number(match[1]);
    items[index] ??= {};
    items[index][match[2]!] = parsed(value);
  }
  return items.length === 0 ? undefined : items.filter((item) => item !== undefined);
}

function messages(list: unknown): Record<string, unknown> | undefined {
  return Array.isArray(list) ? { messages: list } : undefined;
}

function asObject(value: unknown, key: string): Record<string, unknown> | undefined {
  if (value === undefined || value === null) return undefined;
  const content = parsed(value);
  return isObject(content) ? content : { [key]: content };
}

/** Conventions put JSON into text attributes. */
function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value) || isJsonTooDeep(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function first(attributes: OtlpAttributes, ...names: string[]): number | undefined {
  for (const name of names) {
    const value = Number(attributes[name] ?? Number.NaN);
    if (Number.isFinite(value) && value >= 0) return value;
  }
  return undefined;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
