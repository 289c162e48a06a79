import { setTimeout as sleep, setImmediate as yieldTurn } from "node:timers/promises";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BaseChatModelParams,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import type { ChatModelStreamEvent } from "@langchain/core/language_models/event";
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  isAIMessage,
  isToolMessage,
} from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { type ScriptedReply, type ScriptTurn, splitIntoTokens } from "./offline-reply.ts";
import { type ReasoningMode, type ScriptOptions, scriptReply } from "./offline-script.ts";

type OfflineCallOptions = BaseChatModelCallOptions & { tools?: BindToolsInput[] };

export type OfflineModelOptions = BaseChatModelParams & {
  voice?: ScriptOptions["voice"];
  reasoning?: ReasoningMode;
  /** Between two tokens. Zero still gives the event loop a turn. */
  tokenDelayMs?: number;
};

export const defaultTokenDelayMs = 4;

/** A chat model that follows a script: no key, no network, and the same conversation gives the same answer. */
export class OfflineChatModel extends BaseChatModel<OfflineCallOptions> {
  private readonly voice: ScriptOptions["voice"];
  private readonly reasoning: ReasoningMode;
  private readonly tokenDelayMs: number;

  constructor(options: OfflineModelOptions = {}) {
    super(options);
    this.voice = options.voice ?? "agent";
    this.reasoning = options.reasoning ?? "auto";
    this.tokenDelayMs = options.tokenDelayMs ?? defaultTokenDelayMs;
  }

  static override lc_name() {
    return "OfflineChatModel";
  }

  override _llmType() {
    return "offline";
  }

  override getLsParams(options: this["ParsedCallOptions"]) {
    return { ...super.getLsParams(options), ls_provider: "offline", ls_model_name: "offline" };
  }

  override bindTools(tools: BindToolsInput[], options?: Partial<OfflineCallOptions>) {
    return this.withConfig({ ...options, tools } as Partial<OfflineCallOptions>);
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    options.signal?.throwIfAborted();
    const reply = this.reply(messages, options);
    return { generations: [{ text: reply.text, message: messageOf(reply) }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const reply = this.reply(messages, options);
    for (const { text, message } of chunksOf(reply)) {
      await this.pause(options.signal);
      const chunk = new ChatGenerationChunk({ text, message });
      yield chunk;
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  /** One block ends before the next begins, which the bridge from chunks does not promise. */
  override async *_streamChatModelEvents(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
  ): AsyncGenerator<ChatModelStreamEvent> {
    for (const event of eventsOf(this.reply(messages, options))) {
      await this.pause(options.signal);
      yield event;
    }
  }

  private reply(messages: BaseMessage[], options: this["ParsedCallOptions"]): ScriptedReply {
    const tools = (options.tools ?? []).map(toolName);
    return scriptReply(messages.map(toTurn), { voice: this.voice, reasoning: this.reasoning, tools });
  }

  private async pause(signal: AbortSignal | undefined): Promise<void> {
    if (this.tokenDelayMs > 0) await sleep(this.tokenDelayMs, undefined, { signal });
    else await yieldTurn(undefined, { signal });
  }
}

function toolName(tool: BindToolsInput): string {
  if ("name" in tool && typeof tool.name === "string") return tool.name;
  const described = (tool as { function?: { name?: unknown } }).function;
  return typeof described?.name === "string" ? described.name : "";
}

function toTurn(message: BaseMessage): ScriptTurn {
  const text = message.text;
  if (isToolMessage(message)) return { role: "tool", text, toolName: message.name ?? "" };
  if (isAIMessage(message)) return { role: "ai", text };
  return { role: message.getType() === "system" ? "system" : "human", text };
}

/** Plain text stays text; reasoning needs blocks to stand apart from it. */
export function contentOf(reasoning: string, text: string) {
  if (reasoning === "") return text;
  const blocks: { type: string; reasoning?: string; text?: string }[] = [{ type: "reasoning", reasoning }];
  if (text !== "") blocks.push({ type: "text", text });
  return blocks;
}

const responseMetadata = (reply: ScriptedReply) => ({
  model_name: "offline",
  finish_reason: reply.toolCalls.length > 0 ? "tool_calls" : "stop",
});

function messageOf(reply: ScriptedReply): AIMessage {
  return new AIMessage({
    id: reply.id,
    content: contentOf(reply.reasoning, reply.text),
    tool_calls: reply.toolCalls.map((call) => ({ ...call, type: "tool_call" as const })),
    usage_metadata: reply.usage,
    response_metadata: responseMetadata(reply),
  });
}

type TextChunk = { text: string; message: AIMessageChunk };

function* chunksOf(reply: ScriptedReply): Generator<TextChunk> {
  const { id } = reply;
  for (const reasoning of splitIntoTokens(reply.reasoning)) {
    yield {
      text: "",
      message: new AIMessageChunk({ id, content: [{ type: "reasoning", reasoning, index: 0 }] }),
    };
  }
  for (const text of splitIntoTokens(reply.text)) {
    const content = reply.reasoning === "" ? text : [{ type: "text", text, index: 1 }];
    yield { text, message: new AIMessageChunk({ id, content }) };
  }
  for (const [index, call] of reply.toolCalls.entries()) {
    const start = { type: "tool_call_chunk" as const, index, id: call.id, name: call.name, args: "" };
    yield { text: "", message: new AIMessageChunk({ id, content: "", tool_call_chunks: [start] }) };
    for (const args of splitIntoTokens(JSON.stringify(call.args))) {
      const part = { type: "tool_call_chunk" as const, index, args };
      yield { text: "", message: new AIMessageChunk({ id, content: "", tool_call_chunks: [part] }) };
    }
  }
  const last = { id, content: "", usage_metadata: reply.usage, response_metadata: responseMetadata(reply) };
  yield { text: "", message: new AIMessageChunk(last) };
}

function* eventsOf(reply: ScriptedReply): Generator<ChatModelStreamEvent> {
  let index = 0;
  yield { event: "message-start", id: reply.id };
  if (reply.reasoning !== "") {
    yield { event: "content-block-start", index, content: { type: "reasoning", reasoning: "" } };
    for (const reasoning of splitIntoTokens(reply.reasoning)) {
      yield { event: "content-block-delta", index, delta: { type: "reasoning-delta", reasoning } };
    }
    yield {
      event: "content-block-finish",
      index,
      content: { type: "reasoning", reasoning: reply.reasoning },
    };
    index++;
  }
  if (reply.text !== "") {
    yield { event: "content-block-start", index, content: { type: "text", text: "" } };
    for (const text of splitIntoTokens(reply.text)) {
      yield { event: "content-block-delta", index, delta: { type: "text-delta", text } };
    }
    yield { event: "content-block-finish", index, content: { type: "text", text: reply.text } };
    index++;
  }
  for (const { id, name, args } of reply.toolCalls) {
    const chunk = { type: "tool_call_chunk" as const, id, name };
    yield { event: "content-block-start", index, content: { ...chunk, args: "" } };
    let sent = "";
    for (const part of splitIntoTokens(JSON.stringify(args))) {
      sent += part;
      // Fields replace what was there, so the arguments so far are sent each time.
      yield {
        event: "content-block-delta",
        index,
        delta: { type: "block-delta", fields: { ...chunk, args: sent } },
      };
    }
    yield { event: "content-block-finish", index, content: { type: "tool_call", id, name, args } };
    index++;
  }
  yield {
    event: "message-finish",
    reason: reply.toolCalls.length > 0 ? "tool_use" : "stop",
    usage: reply.usage,
    responseMetadata: responseMetadata(reply),
  };
}
