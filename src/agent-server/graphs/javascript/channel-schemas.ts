import type { JsonSchema } from "../graph-description.ts";
import type { GraphKit } from "./graph-kit.ts";

/** One message as the API takes it; the reducer turns it into the graph's own class. */
export const messageSchema: JsonSchema = {
  type: "object",
  properties: {
    role: {
      type: "string",
      description: "user, assistant, system or tool; `type` (human, ai, ...) is accepted too.",
    },
    type: { type: "string" },
    content: { anyOf: [{ type: "string" }, { type: "array", items: { type: "object" } }] },
    id: { type: "string" },
    name: { type: "string" },
    tool_calls: { type: "array", items: { type: "object" } },
    tool_call_id: { type: "string" },
  },
  required: ["content"],
};

export const messagesSchema: JsonSchema = {
  type: "array",
  items: messageSchema,
  langgraph_type: "messages",
  description: "A list of chat messages",
};

/**
 * State declared with annotations has no schema at run time, only channels. What can be known of them is their
 * names, whether they hold messages, and the kind of value they start with.
 */
export function schemaOfChannels(channels: Readonly<Record<string, unknown>>, kit: GraphKit): JsonSchema {
  const names = Object.keys(channels).filter((name) => !name.startsWith("__") && !name.startsWith("branch:"));
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, schemaOfChannel(channels[name], kit)])),
  };
}

type ChannelLike = { operator?: unknown; initialValueFactory?: unknown };

function schemaOfChannel(spec: unknown, kit: GraphKit): JsonSchema {
  // An annotation without options is a function that makes its channel.
  const channel = (typeof spec === "function" ? spec() : spec) as ChannelLike | null | undefined;
  const operator = channel?.operator;
  if (operator === kit.messagesStateReducer) return messagesSchema;
  if (typeof operator === "function" && /^messages\w*Reducer$/.test(operator.name)) return messagesSchema;
  return typeof channel?.initialValueFactory === "function"
    ? schemaOfSample(channel.initialValueFactory())
    : {};
}

function schemaOfSample(sample: unknown): JsonSchema {
  if (Array.isArray(sample)) return { type: "array" };
  if (sample === null || sample === undefined) return {};
  return ["string", "number", "boolean", "object"].includes(typeof sample) ? { type: typeof sample } : {};
}
