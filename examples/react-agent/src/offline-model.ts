import { AIMessage, type BaseMessage, isToolMessage } from "@langchain/core/messages";

/**
 * Stands in for a chat model, so that the example runs without a key: it calls a tool when it sees a sum or a
 * question about the time, and otherwise answers in words. Replace it by a real model with `.bindTools(tools)`.
 */
export async function decide(messages: BaseMessage[]): Promise<AIMessage> {
  const last = messages.at(-1);
  if (last && isToolMessage(last)) return new AIMessage(`The answer is ${last.text}.`);
  const text = last?.text ?? "";
  const sum = /(-?\d+(?:\.\d+)?)\s*([-+*/])\s*(-?\d+(?:\.\d+)?)/.exec(text);
  if (sum) {
    const args = { left: Number(sum[1]), operator: sum[2], right: Number(sum[3]) };
    return call("calculator", args);
  }
  if (/\btime\b/i.test(text)) return call("clock", {});
  const greeting = process.env.GREETING ?? "Hello";
  return new AIMessage(`${greeting}! You said: ${text}`);
}

function call(name: string, args: Record<string, unknown>): AIMessage {
  return new AIMessage({ content: "", tool_calls: [{ id: `call_${name}`, name, args, type: "tool_call" }] });
}
