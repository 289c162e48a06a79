import type { Difference } from "./differences.ts";
import { isRecord, type Json, type JsonRecord, same, without } from "./json.ts";

const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
const madeId = new RegExp(`^(?:lc_run--|run-)(${uuid})(?:-\\d+|-tool-.*)?$`);
const plainId = (text: string) => text.replace(madeId, "$1");

const isMessage = (value: Json): value is JsonRecord =>
  isRecord(value) && "content" in value && typeof value.type === "string" && "response_metadata" in value;

/** Parts of a message with nothing in them. */
const saysNothing = (message: JsonRecord) =>
  message.content === "" &&
  message.type === "ai" &&
  [message.tool_call_chunks, message.tool_calls].every((calls) => calls === undefined || same(calls, []));

export const messageDifferences: Record<string, Difference> = {
  "ids of messages": {
    reason:
      "Each library makes ids of its own for messages without one: `run-…` and `…-tool-…` in JavaScript, `lc_run--…-0` in Python.",
    mend: (value) => {
      if (typeof value === "string") return plainId(value);
      if (!isRecord(value)) return value;
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [plainId(name), item]));
    },
  },
  "versions in messages": {
    reason: "JavaScript's library writes its own version into the metadata of tools' messages.",
    mend: (value) => {
      if (!isMessage(value) || !isRecord(value.metadata) || !("versions" in value.metadata)) return value;
      return without(value, "metadata");
    },
  },
  "messages in content blocks": {
    reason:
      "Over the streaming protocol JavaScript's library has models answer in content blocks, and keeps messages so.",
    journeys: /protocol|streaming API/,
    mend: (value) => {
      if (!isMessage(value)) return value;
      const message = without(value, "content_blocks", "response_metadata");
      const { content } = message;
      if (!Array.isArray(content)) return message;
      const texts = content.filter((block) => isRecord(block) && block.type === "text");
      return { ...message, content: texts.map((block) => (block as JsonRecord).text).join("") };
    },
  },
  "metadata of messages": {
    reason: "What the libraries say about the call of a model besides where it was made is their own.",
    mend: (value) =>
      isRecord(value) && "langgraph_checkpoint_ns" in value
        ? without(
            value,
            "checkpoint_ns",
            "name",
            "tags",
            "versions",
            "lc_versions",
            "ls_provider",
            "ls_integration",
          )
        : value,
  },
  "the last piece of a message": {
    reason: "Python's library ends a message with a piece that says nothing but that it is the last.",
    mend: (value) => {
      if (!Array.isArray(value)) return value;
      const isPartial = (event: Json) => isRecord(event) && event.event === "messages/partial";
      return value.filter((event, index) => {
        if (isPartial(event)) return !same(event, value.slice(0, index).findLast(isPartial));
        return !isLastPiece(event);
      });
    },
  },
  "messages that were streamed": {
    reason: "A message that a model streamed stays a piece in JavaScript, with the pieces of its calls.",
    mend: (value) =>
      isRecord(value) && typeof value.event === "string" && !/^messages($|\||\/partial)/.test(value.event)
        ? withoutCallPieces(value)
        : value,
  },
};

function withoutCallPieces(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutCallPieces);
  if (!isRecord(value)) return value;
  const kept = isMessage(value) ? without(value, "tool_call_chunks") : value;
  return Object.fromEntries(Object.entries(kept).map(([name, item]) => [name, withoutCallPieces(item)]));
}

function isLastPiece(event: Json): boolean {
  if (!isRecord(event)) return false;
  if (event.event === "messages" || String(event.event).startsWith("messages|")) {
    const [message] = event.data as Json[];
    return isRecord(message) && saysNothing(message);
  }
  const { data } = event;
  if (event.event !== "events" || !isRecord(data) || data.event !== "on_chat_model_stream") return false;
  return isRecord(data.data) && isRecord(data.data.chunk) && saysNothing(data.data.chunk);
}
