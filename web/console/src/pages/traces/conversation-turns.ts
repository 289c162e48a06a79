import type { ChatMessage } from "../../ui/chat-message.ts";
import { messagesOf } from "./chat-messages.ts";

/** One trace of a thread as the thread's list has it. */
export type ThreadTrace = {
  trace_id: string;
  name: string;
  status: string;
  start_time: string;
  latency_seconds?: number | null;
  total_tokens?: number | null;
  total_cost?: number | null;
  inputs?: unknown;
  outputs?: unknown;
  error?: string | null;
};

export type Turn = { trace: ThreadTrace; messages: ChatMessage[] };

/**
 * What each trace added to the conversation. Graphs keep the whole conversation in their state, so an output often
 * begins with all that was said before; other agents return their answer alone.
 */
export function conversationTurns(traces: readonly ThreadTrace[]): Turn[] {
  const past: ChatMessage[] = [];
  return traces.map((trace) => {
    const asked = added(messagesIn(trace.inputs, "user"), [past]);
    const answered = added(messagesIn(trace.outputs, "assistant"), [[...past, ...asked], asked, past]);
    const messages = [...asked, ...answered];
    past.push(...messages);
    return { trace, messages };
  });
}

/** Payloads without messages are shown as what their side said. */
function messagesIn(payload: unknown, role: string): ChatMessage[] {
  const found = messagesOf(payload);
  if (found.length > 0 || payload === null || payload === undefined) return found;
  if (typeof payload === "object" && Object.keys(payload).length === 0) return [];
  return [{ role, content: onlyText(payload) ?? payload }];
}

function onlyText(payload: unknown): string | undefined {
  if (typeof payload === "string") return payload;
  const values = typeof payload === "object" && payload !== null ? Object.values(payload) : [];
  return values.length === 1 && typeof values[0] === "string" ? values[0] : undefined;
}

/** The messages after the first of these beginnings that the list has; those that are known by their id are left out. */
function added(list: readonly ChatMessage[], beginnings: readonly (readonly ChatMessage[])[]): ChatMessage[] {
  const beginning = beginnings.find(
    (each) =>
      each.length > 0 &&
      each.length <= list.length &&
      each.every((message, index) => isSame(message, list[index]!)),
  );
  const rest = list.slice(beginning?.length ?? 0);
  const ids = new Set(beginnings.flat().flatMap(({ id }) => (typeof id === "string" ? [id] : [])));
  return rest.filter(({ id }) => typeof id !== "string" || !ids.has(id));
}

function isSame(one: ChatMessage, other: ChatMessage): boolean {
  if (typeof one.id === "string" && one.id === other.id) return true;
  return speakerOf(one) === speakerOf(other) && textOf(one.content) === textOf(other.content);
}

const speakers: Readonly<Record<string, string>> = { user: "human", assistant: "ai" };

function speakerOf({ type, role }: ChatMessage): string {
  const kind = (type ?? role ?? "").replace(/MessageChunk$|Message$/, "").toLowerCase();
  return speakers[kind] ?? kind;
}

function textOf(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content ?? "");
}
