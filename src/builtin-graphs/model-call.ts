import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  type AIMessageChunk,
  type BaseMessageLike,
  coerceMessageLikeToMessage,
} from "@langchain/core/messages";
import { AppError } from "../platform/errors.ts";
import { type ChatModels, parseModelName } from "./chat-models.ts";

/** One call of a model that a user wrote by hand, not a graph's. */
export type ModelCall = {
  workspaceId: string;
  /** `offline`, a provider, or `provider/model`. */
  modelName: string;
  messages: readonly unknown[];
  temperature?: number | undefined;
  maxTokens?: number | undefined;
  /** As OpenAI writes them; other providers get them in their own form. */
  tools?: readonly Record<string, unknown>[] | undefined;
};

export type ModelAnswer = {
  content: unknown;
  tool_calls: readonly unknown[];
  usage: Record<string, unknown> | undefined;
};

export type OpenedModel = {
  provider: string;
  model: string;
  /** Yields the text as it comes; returns the whole message. Stops after this many characters. */
  stream(signal: AbortSignal, maxChars: number): AsyncGenerator<string, ModelAnswer>;
};

/** Throws where the model is not known, has no key, or a message or tool is none. */
export async function openModelCall(models: ChatModels, call: ModelCall): Promise<OpenedModel> {
  const named = parseModelName(call.modelName);
  const { temperature, maxTokens, workspaceId } = call;
  const opened = await models.open({
    modelName: call.modelName,
    configurable: { workspaceId },
    settings: {
      ...(temperature !== undefined && { temperature }),
      ...(maxTokens !== undefined && { maxTokens }),
      maxRetries: 0,
    },
  });
  const messages = call.messages.map(toMessage);
  const model = withTools(opened, call.tools);
  return {
    provider: named?.id ?? "offline",
    model: named?.model ?? "offline",
    async *stream(signal, maxChars) {
      let whole: AIMessageChunk | undefined;
      let chars = 0;
      for await (const chunk of await model.stream(messages, { signal })) {
        whole = whole === undefined ? chunk : whole.concat(chunk);
        const { text } = chunk;
        chars += text.length;
        if (text !== "") yield text;
        if (chars > maxChars) break;
      }
      return {
        content: whole?.content ?? "",
        tool_calls: whole?.tool_calls ?? [],
        usage: whole?.usage_metadata as Record<string, unknown> | undefined,
      };
    },
  };
}

function withTools(model: BaseChatModel, tools: ModelCall["tools"]): Pick<BaseChatModel, "stream"> {
  if (!tools || tools.length === 0) return model;
  if (!model.bindTools) throw wrong("This model does not support tools. Remove them.");
  return model.bindTools([...tools]) as unknown as Pick<BaseChatModel, "stream">;
}

function toMessage(message: unknown, index: number) {
  try {
    return coerceMessageLikeToMessage(message as BaseMessageLike);
  } catch (error) {
    throw wrong(
      `Message ${index + 1} is not valid for a model: ${error instanceof Error ? error.message : error}`,
    );
  }
}

function wrong(message: string): AppError {
  return new AppError({ code: "graph.model_input_wrong", kind: "unprocessable", message });
}
