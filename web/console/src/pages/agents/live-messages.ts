import { type ChatMessage, isChatMessage } from "../../ui/chat-message.ts";

/** Messages as they grow: what the state holds, then what is being written and is not part of the state yet. */
export type LiveMessages = {
  values: Record<string, unknown> | null;
  growing: ReadonlyMap<string, ChatMessage>;
};

export const noLiveMessages: LiveMessages = { values: null, growing: new Map() };

/** One event of a run's stream, applied. */
export function withEvent(live: LiveMessages, name: string, data: unknown): LiveMessages {
  if (name === "values" && data !== null && typeof data === "object") {
    return { values: data as Record<string, unknown>, growing: new Map() };
  }
  if (name !== "messages" || !Array.isArray(data)) return live;
  const [piece] = data as unknown[];
  if (!isChatMessage(piece) || typeof piece.id !== "string") return live;
  const growing = new Map(live.growing);
  growing.set(piece.id, joined(growing.get(piece.id), piece));
  return { ...live, growing };
}

/** The messages of a state's values; null when the graph keeps none. */
export function messagesOf(values: Record<string, unknown> | null | undefined): ChatMessage[] | null {
  const messages = values?.messages;
  return Array.isArray(messages) ? messages.filter(isChatMessage) : null;
}

export function shownMessages(settled: readonly ChatMessage[], live: LiveMessages): ChatMessage[] {
  const base = messagesOf(live.values) ?? settled;
  const known = new Set(base.map(({ id }) => id));
  return [...base, ...[...live.growing.values()].filter(({ id }) => !known.has(id))];
}

function joined(before: ChatMessage | undefined, piece: ChatMessage): ChatMessage {
  // Pieces are marked as such; a whole message takes the place of its pieces.
  if (!before || !String(piece.type).endsWith("Chunk")) return piece;
  const calls = [piece.tool_calls, before.tool_calls].find(
    (given) => Array.isArray(given) && given.length > 0,
  );
  return {
    ...before,
    content: joinedContent(before.content, piece.content),
    ...(calls ? { tool_calls: calls } : {}),
  };
}

type Block = { type?: string; index?: number; text?: string; reasoning?: string };

function joinedContent(before: unknown, piece: unknown): unknown {
  if (typeof before === "string" && typeof piece === "string") return before + piece;
  const blocks = [...asBlocks(before)];
  for (const block of asBlocks(piece)) {
    const last = blocks.at(-1);
    if (!last || last.type !== block.type || last.index !== block.index) {
      blocks.push(block);
      continue;
    }
    const both = { ...last, ...block };
    if (last.text !== undefined) both.text = last.text + (block.text ?? "");
    if (last.reasoning !== undefined) both.reasoning = last.reasoning + (block.reasoning ?? "");
    blocks[blocks.length - 1] = both;
  }
  return blocks;
}

function asBlocks(content: unknown): Block[] {
  if (Array.isArray(content)) return content as Block[];
  return typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : [];
}
