import { isJsonTooDeep } from "../../platform/json-depth.ts";
import type { OtlpAttributes } from "./otlp-span.ts";

/** Messages as chat models write them: `{role, content, tool_calls}`, and `{role: "tool", tool_call_id, content}`. */
export type ChatMessage = Record<string, unknown>;

const maxDepth = 20;
const maxIndex = 9_999;

/**
 * `prefix0.role`, `prefix0.tool_calls.0.function.name`, `prefix1.content` … as a list of objects. OpenInference puts the name of
 * what an entry is between (`0.message.role`, `tool_calls.0.tool_call.id`), which is left out.
 */
export function numbered(attributes: OtlpAttributes, prefix: string): ChatMessage[] | undefined {
  const items: unknown[] = [];
  for (const [name, value] of Object.entries(attributes)) {
    if (!name.startsWith(prefix)) continue;
    const path = name
      .slice(prefix.length)
      .split(".")
      .filter((step) => !wrappers.has(step));
    if (isIndex(path[0]) && path.length > 1 && path.length <= maxDepth) put(items, path, parsed(value));
  }
  const found = (dense(items) as unknown[]).filter(isObject);
  return found.length === 0 ? undefined : found.map(withToolCalls);
}

const wrappers = new Set(["message", "tool_call", "message_content"]);

function isIndex(step: string | undefined): boolean {
  return step !== undefined && /^\d{1,4}$/.test(step) && Number(step) <= maxIndex;
}

function put(root: unknown[], path: readonly string[], value: unknown): void {
  let place = root as unknown as Record<string, unknown>;
  for (const [depth, step] of path.entries()) {
    if (step === "__proto__" || (Array.isArray(place) && !isIndex(step))) return;
    if (depth === path.length - 1) {
      place[step] = value;
      return;
    }
    const next = place[step];
    if (typeof next !== "object" || next === null) place[step] = isIndex(path[depth + 1]) ? [] : {};
    place = place[step] as Record<string, unknown>;
  }
}

/** Without holes: an index of thousands must not make a list of thousands. */
function dense(value: unknown): unknown {
  if (Array.isArray(value)) return Object.values(value).map(dense);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, dense(inner)]));
}

/** Messages of the newer convention, whose content stands in typed parts. A list of anything else is left as it is. */
export function fromParts(list: unknown): ChatMessage[] | undefined {
  if (!Array.isArray(list)) return undefined;
  return list.flatMap((message) => {
    if (!isObject(message)) return [{ role: "user", content: message }];
    return Array.isArray(message.parts) ? messagesOf(message, message.parts) : [withToolCalls(message)];
  });
}

function messagesOf(message: ChatMessage, parts: readonly unknown[]): ChatMessage[] {
  const { parts: _parts, ...rest } = message;
  const objects = parts.filter(isObject);
  const calls = objects.filter((part) => part.type === "tool_call");
  const answers = objects.filter((part) => part.type === "tool_call_response");
  const others = objects.filter((part) => !calls.includes(part) && !answers.includes(part));
  const isText = others.every((part) => part.type === "text" && typeof part.content === "string");
  const content = isText ? others.map((part) => part.content).join("\n") : others.map(asContent);
  const own: ChatMessage = {
    ...rest,
    content: others.length === 0 ? null : content,
    ...(calls.length > 0 && { tool_calls: calls.map(toolCall) }),
  };
  const results = answers.map((part) => ({
    role: "tool",
    tool_call_id: part.id,
    ...(part.name !== undefined && { name: part.name }),
    content: asText(part.response ?? part.result ?? null),
  }));
  return answers.length > 0 && others.length === 0 && calls.length === 0 ? results : [own, ...results];
}

function asContent(part: ChatMessage): ChatMessage {
  return part.type === "text" ? { type: "text", text: part.content } : part;
}

function withToolCalls(message: ChatMessage): ChatMessage {
  const calls = message.tool_calls;
  return Array.isArray(calls) ? { ...message, tool_calls: calls.filter(isObject).map(toolCall) } : message;
}

/** However a library writes it: `{id, name, arguments}`, `{function: {…}}`, `{toolCallId, toolName, input}`. */
export function toolCall(call: ChatMessage): ChatMessage {
  const inner = isObject(call.function) ? call.function : call;
  const name = inner.name ?? call.toolName;
  const args = inner.arguments ?? call.args ?? call.input ?? {};
  return {
    id: call.id ?? call.toolCallId ?? null,
    type: "function",
    function: { name: name ?? null, arguments: asText(args) },
  };
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Conventions put JSON into text attributes. */
export function parsed(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value) || isJsonTooDeep(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
