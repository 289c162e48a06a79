import { AIMessage, type BaseMessage, isToolMessage } from "@langchain/core/messages";
import { tools } from "./tools.ts";

/** A real model when MODEL names one, such as openai:gpt-5-mini; until then the scripted one. */
export async function answer(messages: BaseMessage[]): Promise<BaseMessage> {
  const name = process.env.MODEL;
  if (!name) return scripted(messages);
  const { initChatModel } = await import("langchain");
  const model = await initChatModel(name);
  return model.bindTools!(tools).invoke(messages);
}

/** Needs no key: it asks for the weather where a city is named, and otherwise repeats what it was told. */
function scripted(messages: BaseMessage[]): AIMessage {
  const last = messages.at(-1);
  if (last && isToolMessage(last)) return new AIMessage(last.text);
  const text = last?.text ?? "";
  const city = /\bin ([A-Z]\p{L}+)/u.exec(text)?.[1];
  if (!city) return new AIMessage(`You said: ${text}`);
  return new AIMessage({
    content: "",
    tool_calls: [{ id: crypto.randomUUID(), name: "weather", args: { city }, type: "tool_call" }],
  });
}
