import type { ContentBlock, FinalizedContentBlock, MessageRole, MessagesData } from "@langchain/protocol";

/** A message or a piece of one, by shape: it may come from any version of the library. */
export type ClassicMessage = {
  id?: string | undefined;
  content: unknown;
  _getType(): string;
  concat?(other: unknown): unknown;
  tool_call_chunks?: ToolCallPiece[];
  tool_calls?: { id?: string; name: string; args: Record<string, unknown> }[];
  usage_metadata?: Record<string, unknown>;
  response_metadata?: Record<string, unknown>;
  chunk_position?: unknown;
};

type ToolCallPiece = { id?: string; name?: string; args?: string; index?: number };
type Piece =
  | { kind: "text"; key: string; text: string }
  | { kind: "reasoning"; key: string; text: string }
  | { kind: "tool_call"; key: string; id?: string; name?: string; args: string }
  | { kind: "whole"; key: string; block: ContentBlock };
type OpenBlock = { key: string; index: number; content: Record<string, unknown> };

/**
 * Turns one message, given in pieces or at once, into content blocks: one block ends before the next begins. For graphs
 * whose library does not send content blocks itself.
 */
export class MessageBlocks {
  readonly #id: string;
  #started = false;
  #block: OpenBlock | undefined;
  #nextIndex = 0;
  #usage: Record<string, unknown> | undefined;

  constructor(id: string) {
    this.#id = id;
  }

  add(message: ClassicMessage): MessagesData[] {
    const events = this.#start(message);
    for (const piece of piecesOf(message)) events.push(...this.#piece(piece));
    if (message.usage_metadata) this.#usage = message.usage_metadata;
    return events;
  }

  finish(): MessagesData[] {
    const usage = this.#usage ? { usage: this.#usage } : {};
    return [...this.#closeBlock(), { event: "message-finish", ...usage }];
  }

  #start(message: ClassicMessage): MessagesData[] {
    if (this.#started) return [];
    this.#started = true;
    return [{ event: "message-start", role: roleOf(message), id: this.#id }];
  }

  #piece(piece: Piece): MessagesData[] {
    if (piece.kind === "whole") return [...this.#closeBlock(), ...this.#whole(piece.block)];
    const events: MessagesData[] = [];
    if (this.#block?.key !== piece.key) {
      events.push(...this.#closeBlock());
      const content = emptyBlock(piece);
      this.#block = { key: piece.key, index: this.#nextIndex++, content };
      events.push({
        event: "content-block-start",
        index: this.#block.index,
        content: { ...content } as ContentBlock,
      });
    }
    const { index, content } = this.#block!;
    if (piece.kind === "tool_call") {
      content.id ??= piece.id ?? null;
      content.name ??= piece.name ?? null;
      content.args = `${content.args}${piece.args}`;
      // Fields replace what was there, so the arguments so far are sent each time.
      const fields = { ...content, type: "tool_call_chunk" };
      events.push({ event: "content-block-delta", index, delta: { type: "block-delta", fields } });
    } else if (piece.text !== "") {
      content[piece.kind] = `${content[piece.kind]}${piece.text}`;
      const delta =
        piece.kind === "text"
          ? ({ type: "text-delta", text: piece.text } as const)
          : ({ type: "reasoning-delta", reasoning: piece.text } as const);
      events.push({ event: "content-block-delta", index, delta });
    }
    return events;
  }

  #whole(block: ContentBlock): MessagesData[] {
    const index = this.#nextIndex++;
    return [
      { event: "content-block-start", index, content: block },
      { event: "content-block-finish", index, content: block as FinalizedContentBlock },
    ];
  }

  #closeBlock(): MessagesData[] {
    const block = this.#block;
    if (!block) return [];
    this.#block = undefined;
    return [{ event: "content-block-finish", index: block.index, content: finalBlock(block.content) }];
  }
}

/** Whether more of this message may follow. */
export function isPiece(message: ClassicMessage): boolean {
  return typeof message.concat === "function" && message.chunk_position !== "last";
}

export function roleOf(message: ClassicMessage): MessageRole {
  const type = message._getType();
  return type === "human" || type === "system" ? type : "ai";
}

function emptyBlock(piece: Exclude<Piece, { kind: "whole" }>): Record<string, unknown> {
  if (piece.kind === "text") return { type: "text", text: "" };
  if (piece.kind === "reasoning") return { type: "reasoning", reasoning: "" };
  return { type: "tool_call_chunk", id: piece.id ?? null, name: piece.name ?? null, args: "" };
}

function finalBlock(content: Record<string, unknown>): FinalizedContentBlock {
  if (content.type !== "tool_call_chunk") return content as FinalizedContentBlock;
  const { id, name, args } = content as { id: string | null; name: string | null; args: string };
  try {
    const parsed: unknown = JSON.parse(args === "" ? "{}" : args);
    if (name !== null && parsed !== null && typeof parsed === "object") {
      return { type: "tool_call", id, name, args: parsed as Record<string, unknown> };
    }
  } catch {
    // Falls through: what the model wrote is no JSON, and the block is marked so.
  }
  return { type: "invalid_tool_call", id, name, args, error: "The arguments are not a JSON object." };
}

function piecesOf(message: ClassicMessage): Piece[] {
  const pieces: Piece[] = [];
  const { content } = message;
  if (typeof content === "string") {
    if (content !== "") pieces.push({ kind: "text", key: "text", text: content });
  } else if (Array.isArray(content)) {
    for (const part of content as Record<string, unknown>[]) pieces.push(...piecesOfPart(part));
  }
  return [...pieces, ...toolCallPieces(message)];
}

function piecesOfPart(part: Record<string, unknown>): Piece[] {
  const place = part.index === undefined ? "" : `:${part.index}`;
  if (typeof part.text === "string" && (part.type === "text" || part.type === "text_delta")) {
    return [{ kind: "text", key: `text${place}`, text: part.text }];
  }
  if (typeof part.reasoning === "string") {
    return [{ kind: "reasoning", key: `reasoning${place}`, text: part.reasoning }];
  }
  // Calls are sent once, from the fields made for them.
  if (typeof part.type !== "string" || /^(tool_|input_json)/.test(part.type)) return [];
  return [{ kind: "whole", key: "whole", block: part as ContentBlock }];
}

function toolCallPieces(message: ClassicMessage): Piece[] {
  if (message.tool_call_chunks && message.tool_call_chunks.length > 0) {
    return message.tool_call_chunks.map((chunk, position) => ({
      kind: "tool_call",
      key: `call:${chunk.index ?? position}`,
      ...(chunk.id ? { id: chunk.id } : {}),
      ...(chunk.name ? { name: chunk.name } : {}),
      args: chunk.args ?? "",
    }));
  }
  if (typeof message.concat === "function") return [];
  return (message.tool_calls ?? []).map((call, position) => ({
    kind: "tool_call",
    key: `call:${position}`,
    ...(call.id ? { id: call.id } : {}),
    name: call.name,
    args: JSON.stringify(call.args),
  }));
}
