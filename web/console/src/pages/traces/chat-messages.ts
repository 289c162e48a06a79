import { type ChatMessage, isChatMessage } from "../../ui/chat-message.ts";

/** The messages a payload holds, in any of the places where libraries put them; empty when it holds none. */
export function messagesOf(payload: unknown): ChatMessage[] {
  if (Array.isArray(payload)) return payload.flatMap(messageOf);
  if (!isRecord(payload)) return [];
  const lists = [
    payload.messages,
    payload.generations,
    payload.choices,
    payload.output,
    payload.message,
    payload.input,
  ];
  for (const list of lists) {
    const found = (Array.isArray(list) ? (list as unknown[]).flat(2) : [list]).flatMap(messageOf);
    if (found.length > 0) return found;
  }
  return messageOf(payload);
}

/** One message in any of its spellings: plain, serialized by a constructor, a generation, a choice or a pair. */
function messageOf(value: unknown): ChatMessage[] {
  if (Array.isArray(value)) {
    const [role, content] = value as unknown[];
    const isPair = value.length === 2 && typeof role === "string" && typeof content === "string";
    return isPair ? [{ role, content }] : [];
  }
  if (!isRecord(value)) return [];
  if (isRecord(value.message)) return messageOf(value.message);
  if (isRecord(value.kwargs) && Array.isArray(value.id)) {
    const name = String(value.id.at(-1) ?? "").replace(/(Message|MessageChunk)$/, "");
    return [{ ...value.kwargs, type: String(value.kwargs.type ?? name).toLowerCase() } as ChatMessage];
  }
  if (isChatMessage(value)) return [withCalls(value)];
  return typeof value.text === "string" && Object.hasOwn(value, "generation_info")
    ? [{ role: "assistant", content: value.text }]
    : [];
}

/** Thoughts that came beside the text, as some models send them. */
function withCalls(message: ChatMessage): ChatMessage {
  const beside = isRecord(message.additional_kwargs) ? message.additional_kwargs : {};
  const thought = beside.reasoning_content;
  const calls =
    Array.isArray(message.tool_calls) && message.tool_calls.length > 0
      ? message.tool_calls
      : beside.tool_calls;
  const content =
    typeof thought === "string" && typeof message.content === "string"
      ? [
          { type: "reasoning", reasoning: thought },
          { type: "text", text: message.content },
        ]
      : message.content;
  return { ...message, content, ...(calls ? { tool_calls: calls } : {}) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
