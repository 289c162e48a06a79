import { type ChatMessage, isChatMessage } from "../../ui/chat-message.ts";

/** What a subgraph says, which is no part of the conversation: it stands where it began. */
export type InnerTalk = {
  namespace: string;
  /** The nodes it runs in, from the outermost to the innermost. */
  path: readonly string[];
  /** How many messages of the conversation were there before it. */
  after: number;
  messages: ReadonlyMap<string, ChatMessage>;
};

/** Messages as they grow: what the state holds, then what is being written and is not part of the state yet. */
export type LiveMessages = {
  values: Record<string, unknown> | null;
  growing: ReadonlyMap<string, ChatMessage>;
  inner: ReadonlyMap<string, InnerTalk>;
};

export const noLiveMessages: LiveMessages = { values: null, growing: new Map(), inner: new Map() };

/** One event of a run's stream, applied. */
export function withEvent(live: LiveMessages, name: string, data: unknown): LiveMessages {
  const [mode = "", ...segments] = name.split("|");
  if (name === "values" && data !== null && typeof data === "object") {
    return { ...live, values: data as Record<string, unknown>, growing: new Map() };
  }
  if (mode === "messages/partial" && segments.length === 0 && Array.isArray(data)) {
    const growing = new Map(live.growing);
    for (const message of data.filter(isChatMessage)) {
      if (typeof message.id === "string") growing.set(message.id, message);
    }
    return { ...live, growing };
  }
  if (mode !== "messages" || !Array.isArray(data)) return live;
  const [piece, metadata] = data as unknown[];
  if (!isChatMessage(piece) || typeof piece.id !== "string") return live;
  const within = outerSegments(metadata, segments);
  if (within.length > 0) return withInnerPiece(live, within, piece);
  return { ...live, growing: withPiece(live.growing, piece) };
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

export type ConversationItem =
  | { kind: "message"; message: ChatMessage }
  | { kind: "inner"; talk: InnerTalk; over: boolean };

/** The messages, and between them what subgraphs said: over as soon as the conversation went on. */
export function conversationItems(
  messages: readonly ChatMessage[],
  inner: LiveMessages["inner"],
): ConversationItem[] {
  const talks = [...inner.values()];
  const innerAt = (place: number): ConversationItem[] =>
    talks
      .filter(({ after }) => Math.min(after, messages.length) === place)
      .map((talk) => ({ kind: "inner", talk, over: place < messages.length }));
  return [
    ...innerAt(0),
    ...messages.flatMap((message, index): ConversationItem[] => [
      { kind: "message", message },
      ...innerAt(index + 1),
    ]),
  ];
}

/** The namespace of the graph the node is in: nothing for a node of the outermost one. */
function outerSegments(metadata: unknown, named: readonly string[]): readonly string[] {
  const known = (metadata as { langgraph_checkpoint_ns?: unknown } | null | undefined)
    ?.langgraph_checkpoint_ns;
  // The last segment is the node itself. Its name in the event is not always complete.
  return typeof known === "string" ? known.split("|").slice(0, -1) : named.slice(0, -1);
}

function withInnerPiece(live: LiveMessages, within: readonly string[], piece: ChatMessage): LiveMessages {
  const namespace = within.join("|");
  const known = live.inner.get(namespace) ?? {
    namespace,
    path: within.map((segment) => segment.slice(0, segment.lastIndexOf(":"))),
    after: (messagesOf(live.values)?.length ?? 0) + live.growing.size,
    messages: new Map(),
  };
  const talk = { ...known, messages: withPiece(known.messages, piece) };
  return { ...live, inner: new Map(live.inner).set(namespace, talk) };
}

function withPiece(
  messages: ReadonlyMap<string, ChatMessage>,
  piece: ChatMessage,
): ReadonlyMap<string, ChatMessage> {
  const id = piece.id as string;
  return new Map(messages).set(id, joined(messages.get(id), piece));
}

function joined(before: ChatMessage | undefined, piece: ChatMessage): ChatMessage {
  // A whole message takes the place of its pieces.
  if (!before || !isPiece(piece)) return piece;
  const calls = [piece.tool_calls, before.tool_calls].find(
    (given) => Array.isArray(given) && given.length > 0,
  );
  return {
    ...before,
    content: joinedContent(before.content, piece.content),
    ...(calls ? { tool_calls: calls } : {}),
  };
}

/** Python names them by their type; JavaScript says `ai` for both, and only pieces have pieces of tool calls. */
function isPiece({ type, tool_call_chunks }: ChatMessage): boolean {
  return String(type).endsWith("Chunk") || Array.isArray(tool_call_chunks);
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
