import type { Difference } from "./differences.ts";
import { isRecord, type Json, type JsonRecord, without } from "./json.ts";

type Event = JsonRecord & { method: string; params: JsonRecord & { namespace: string[]; data: JsonRecord } };

const isEvent = (value: Json): value is Event =>
  isRecord(value) && value.type === "event" && typeof value.method === "string";

const areEvents = (value: Json): value is Event[] =>
  Array.isArray(value) && value.length > 0 && value.every(isEvent);

const speaks = ({ method }: Event) => method === "messages" || method === "tools";

const placeOf = ({ params }: Event) => params.namespace.join("|");

export const protocolDifferences: Record<string, Difference> = {
  "places of messages and tools": {
    reason:
      "JavaScript's library tells messages and tools in the namespace of their node, which begins and ends with it; Python's in that of their graph.",
    journeys: /protocol/,
    mend: (value) => {
      if (!areEvents(value)) return value;
      const speaking = new Set(value.filter(speaks).map(placeOf));
      const others = new Set(
        value.filter((event) => !speaks(event) && event.method !== "lifecycle").map(placeOf),
      );
      const isOfNode = (event: Event) =>
        event.method === "lifecycle" && speaking.has(placeOf(event)) && !others.has(placeOf(event));
      return value
        .filter((event) => !isOfNode(event))
        .map((event) => (speaks(event) ? { ...event, params: without(event.params, "namespace") } : event));
    },
  },
  "a checkpoint that was told": {
    reason:
      "JavaScript's library tells a checkpoint again with values of a step that another node interrupted.",
    journeys: /protocol/,
    mend: (value) => {
      if (!areEvents(value)) return value;
      const isCheckpoint = ({ method }: Event) => method === "checkpoints";
      return value.filter(
        (event, index) =>
          !isCheckpoint(event) ||
          !value
            .slice(0, index)
            .some((one) => isCheckpoint(one) && one.params.data.id === event.params.data.id),
      );
    },
  },
  "numbers of events": {
    reason: "They follow from the other differences; that they rise is tested elsewhere.",
    journeys: /protocol/,
    mend: (value) =>
      isEvent(value)
        ? without(value, "seq", "event_id")
        : isRecord(value)
          ? without(value, "applied_through_seq")
          : value,
  },
  "ends of blocks": {
    reason:
      "JavaScript's library ends the blocks of a message together; those of Python are made here and end one by one. The ends' own metadata are the library's.",
    journeys: /protocol/,
    mend: (value) => {
      if (!Array.isArray(value)) return value;
      const list = value.filter((event) => !(isRecord(event) && isBlockEnd(event)));
      return list.map((event) => withoutFinish(event));
    },
  },
  "pieces of tool calls": {
    reason: "JavaScript's library begins a call with its first arguments; those of Python follow.",
    journeys: /protocol/,
    mend: (value, key) =>
      key === "content" && isRecord(value) && value.type === "tool_call_chunk"
        ? without(value, "args", "index")
        : value,
  },
  "provider of a model": {
    reason: "A model's provider is the name of its class, which Python's library writes in small letters.",
    journeys: /protocol/,
    mend: (value, key) => (key === "provider" && typeof value === "string" ? value.toLowerCase() : value),
  },
};

function dataOf(event: Json): JsonRecord | undefined {
  const params = isRecord(event) && event.method === "messages" ? event.params : undefined;
  return isRecord(params) && isRecord(params.data) ? params.data : undefined;
}

const isBlockEnd = (event: JsonRecord) => dataOf(event)?.event === "content-block-finish";

function withoutFinish(event: Json): Json {
  const data = dataOf(event);
  if (data?.event !== "message-finish" || !isRecord(event)) return event;
  return {
    ...event,
    params: {
      ...(event.params as JsonRecord),
      data: without(data, "responseMetadata", "reason", "metadata"),
    },
  };
}
