import type { Example } from "./dataset.ts";

type Message = Record<string, unknown> & { role: string };

const roles: Record<string, string> = {
  human: "user",
  user: "user",
  ai: "assistant",
  assistant: "assistant",
  system: "system",
  developer: "developer",
  tool: "tool",
  function: "function",
};

/**
 * One conversation for fine-tuning: the messages of the input, then that of the output. Null when the example holds none: no
 * messages, and no single text on either side.
 */
export function toConversation(example: Pick<Example, "inputs" | "outputs">): { messages: Message[] } | null {
  const asked = readSide(JSON.parse(example.inputs), "user", ["messages", "input", "inputs"]);
  const answered = readSide(example.outputs === null ? null : JSON.parse(example.outputs), "assistant", [
    "messages",
    "output",
    "outputs",
    "message",
    "generations",
  ]);
  return asked && answered ? { messages: [...asked, ...answered] } : null;
}

function readSide(side: unknown, role: string, names: readonly string[]): Message[] | null {
  if (!isObject(side)) return null;
  const named = names.map((name) => side[name]).find((value) => value !== undefined);
  const values = Object.values(side);
  const value = named ?? (values.length === 1 ? values[0] : undefined);
  if (typeof value === "string") return [{ role, content: value }];
  const list = (Array.isArray(value) ? value : [value]).flat();
  const messages = list.map(readMessage);
  return messages.length > 0 && messages.every((message) => message !== null) ? messages : null;
}

/** As OpenAI writes it, or as LangChain does (`{type, data: {content}}`). */
function readMessage(value: unknown): Message | null {
  if (!isObject(value)) return null;
  const data = isObject(value.data) ? value.data : value;
  const given = value.role ?? value.type ?? data.role ?? data.type;
  const role = typeof given === "string" ? roles[given] : undefined;
  if (role === undefined) return null;
  const more = isObject(data.additional_kwargs) ? data.additional_kwargs : data;
  const message: Message = { role, content: data.content ?? null };
  for (const field of ["name", "tool_calls", "function_call", "tool_call_id"]) {
    const found = more[field] ?? data[field];
    if (found !== undefined && found !== null && !(Array.isArray(found) && found.length === 0))
      message[field] = found;
  }
  return message;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
