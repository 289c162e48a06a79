import { type ChatMessage, isObject, parsed, toolCall } from "./genai-messages.ts";
import type { OtlpAttributes } from "./otlp-span.ts";

/**
 * Spans of the Vercel AI SDK: `ai.generateText` and its like hold the calls of the model (`….doGenerate`, `….doStream`,
 * `….doEmbed`) and of tools (`ai.toolCall`). The outer span repeats the tokens of the calls, so only theirs count.
 */
export function vercelRunType(attributes: OtlpAttributes): string | undefined {
  const operation = operationOf(attributes);
  if (operation === undefined) return undefined;
  if (operation === "ai.toolCall") return "tool";
  if (/\.do(Generate|Stream)$/.test(operation)) return "llm";
  return operation.endsWith(".doEmbed") ? "embedding" : "chain";
}

/** What the program calls it: the tool's name, or the function's. */
export function vercelName(attributes: OtlpAttributes): string | undefined {
  const operation = operationOf(attributes);
  if (operation === undefined) return undefined;
  const name =
    operation === "ai.toolCall"
      ? attributes["ai.toolCall.name"]
      : /\.do[A-Z]/.test(operation)
        ? undefined
        : attributes["ai.telemetry.functionId"];
  return typeof name === "string" && name !== "" ? name : undefined;
}

export function vercelInputs(attributes: OtlpAttributes): Record<string, unknown> | undefined {
  if (operationOf(attributes) === undefined) return undefined;
  const args = parsed(attributes["ai.toolCall.args"]);
  if (args !== undefined) return isObject(args) ? args : { input: args };
  const messages = parsed(attributes["ai.prompt.messages"]);
  const prompt = parsed(attributes["ai.prompt"]);
  const embedded = attributes["ai.value"] ?? attributes["ai.values"];
  const tools = attributes["ai.prompt.tools"];
  const inputs = {
    ...(isObject(prompt) ? prompt : prompt === undefined ? {} : { prompt }),
    ...(Array.isArray(messages) && { messages: messages.flatMap(toMessages) }),
    ...(Array.isArray(tools) && { tools: tools.map(parsed) }),
    ...(embedded !== undefined && {
      input: Array.isArray(embedded) ? embedded.map(parsed) : parsed(embedded),
    }),
  };
  return Object.keys(inputs).length > 0 ? inputs : undefined;
}

export function vercelOutputs(attributes: OtlpAttributes): Record<string, unknown> | undefined {
  if (operationOf(attributes) === undefined) return undefined;
  const result = parsed(attributes["ai.toolCall.result"]);
  if (result !== undefined) return isObject(result) ? result : { output: result };
  const object = parsed(attributes["ai.response.object"]);
  if (object !== undefined) return isObject(object) ? object : { output: object };
  const embedding = attributes["ai.embedding"] ?? attributes["ai.embeddings"];
  if (embedding !== undefined)
    return { output: Array.isArray(embedding) ? embedding.map(parsed) : parsed(embedding) };
  const text = attributes["ai.response.text"];
  const calls = parsed(attributes["ai.response.toolCalls"]);
  if (text === undefined && !Array.isArray(calls)) return undefined;
  const reasoning = attributes["ai.response.reasoning"];
  const message: ChatMessage = {
    role: "assistant",
    content: text ?? null,
    ...(reasoning !== undefined && { reasoning }),
    ...(Array.isArray(calls) && calls.length > 0 && { tool_calls: calls.filter(isObject).map(toolCall) }),
  };
  return { messages: [message] };
}

const metadataPrefix = "ai.telemetry.metadata.";

/** What the program gave along (`experimental_telemetry.metadata`); `tags` are the run's tags. */
export function vercelMetadata(name: string): string | undefined {
  return name.startsWith(metadataPrefix) ? name.slice(metadataPrefix.length) : undefined;
}

export const vercelTags = `${metadataPrefix}tags`;

/** Tokens that only these spans carry; those of a call are in the general attributes too. */
export function vercelUsageDetails(attributes: OtlpAttributes): { cached?: unknown; reasoning?: unknown } {
  return {
    cached: attributes["ai.usage.cachedInputTokens"],
    reasoning: attributes["ai.usage.reasoningTokens"],
  };
}

function operationOf(attributes: OtlpAttributes): string | undefined {
  const operation = attributes["ai.operationId"];
  return typeof operation === "string" ? operation : undefined;
}

/** A message's parts: text, calls of tools and what they answered, which are messages of their own. */
function toMessages(message: unknown): ChatMessage[] {
  if (!isObject(message) || !Array.isArray(message.content)) return [message as ChatMessage];
  const parts = message.content.filter(isObject);
  const results = parts.filter((part) => part.type === "tool-result");
  if (results.length > 0)
    return results.map((part) => ({
      role: "tool",
      tool_call_id: part.toolCallId,
      name: part.toolName,
      content: resultText(part.output ?? part.result),
    }));
  const calls = parts.filter((part) => part.type === "tool-call");
  const others = parts.filter((part) => !calls.includes(part));
  const isText = others.every((part) => part.type === "text");
  return [
    {
      ...message,
      content: others.length === 0 ? null : isText ? others.map((part) => part.text).join("\n") : others,
      ...(calls.length > 0 && { tool_calls: calls.map(toolCall) }),
    },
  ];
}

function resultText(output: unknown): string {
  const value = isObject(output) && "value" in output ? output.value : output;
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}
