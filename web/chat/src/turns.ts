import { readContent, type ShownFile } from "./attachments/attachment.ts";

/** A conversation as it is drawn: the speakers, and the parts of one answer. */
export type Turn =
  | { kind: "human"; id: string; text: string; files: ShownFile[] }
  /** `lastId` is the id of its latest message. */
  | { kind: "assistant"; id: string; lastId: string; parts: Part[] };

export type Part =
  | { kind: "reasoning"; key: string; text: string }
  | { kind: "text"; key: string; text: string }
  | { kind: "tool"; key: string; call: ToolCall };

export type ToolCall = {
  id: string;
  name: string;
  /** Text while the model is still writing them. */
  args: Record<string, unknown> | string;
  result?: { text: string; failed: boolean };
};

type Block = { type?: string; text?: string; reasoning?: string };
type Call = { id?: string; name?: string; args?: unknown };

/** A message of the library, or its JSON from the history: they have these in common. */
type Message = {
  id?: string;
  type?: string;
  getType?(): string;
  content?: string | Block[];
  tool_calls?: Call[];
  tool_call_chunks?: Call[];
  tool_call_id?: string;
  status?: string;
};

/** Everything between two messages of the person is one answer: text, thoughts, tool calls with their results. */
export function toTurns(messages: readonly unknown[]): Turn[] {
  const turns: Turn[] = [];
  const calls = new Map<string, ToolCall>();
  for (const [at, item] of messages.entries()) {
    const message = item as Message;
    const id = message.id ?? `message-${at}`;
    const type = message.getType?.() ?? message.type;
    if (type === "human") {
      turns.push({ kind: "human", id, ...readContent(message.content) });
    } else if (type === "tool") {
      const call = calls.get(message.tool_call_id ?? "");
      if (call) call.result = { text: textOf(message.content), failed: message.status === "error" };
    } else if (type === "ai") {
      const last = turns.at(-1);
      const turn =
        last?.kind === "assistant" ? last : { kind: "assistant" as const, id, lastId: id, parts: [] };
      if (turn !== last) turns.push(turn);
      turn.lastId = id;
      turn.parts.push(...partsOf(message, id, calls));
    }
  }
  return turns;
}

function partsOf(message: Message, id: string, calls: Map<string, ToolCall>): Part[] {
  const parts: Part[] = [];
  const blocks: Block[] =
    typeof message.content === "string" ? [{ type: "text", text: message.content }] : (message.content ?? []);
  for (const [at, block] of blocks.entries()) {
    const key = `${id}-${at}`;
    if (block.type === "reasoning" && block.reasoning)
      parts.push({ kind: "reasoning", key, text: block.reasoning });
    if (block.type === "text" && block.text) parts.push({ kind: "text", key, text: block.text });
  }
  for (const call of [...(message.tool_calls ?? []), ...(message.tool_call_chunks ?? [])]) {
    if (!call.id || calls.has(call.id)) continue;
    const view: ToolCall = { id: call.id, name: call.name ?? "", args: argsOf(call.args) };
    calls.set(call.id, view);
    parts.push({ kind: "tool", key: call.id, call: view });
  }
  return parts;
}

function argsOf(args: unknown): ToolCall["args"] {
  if (typeof args === "string") return args;
  return args !== null && typeof args === "object" ? (args as Record<string, unknown>) : {};
}

export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as Block[]).map((block) => (block.type === "text" ? (block.text ?? "") : "")).join("");
}
