import { isBaseMessage } from "@langchain/core/messages";
import type { ProtocolEvent as LibraryEvent } from "@langchain/langgraph";

/** What a client receives: the library's event with a number of its own. */
export type WireEvent = {
  type: "event";
  event_id: string;
  seq: number;
  method: string;
  params: { namespace: string[]; timestamp: number; node?: string; data: unknown };
};

/** An event before it is numbered. */
export type DraftEvent = Pick<WireEvent, "method" | "params">;

/**
 * `graph.streamEvents(…, { version: "v3" })` already speaks the protocol, in terms of living objects. Four things are
 * left for a server: plain JSON, a run's own beginning and end (the server reports those, it knows about cancelling),
 * interrupts as `input.requested`, and tools that paused, which the library reports as failed.
 */
export function toDrafts(event: LibraryEvent): DraftEvent[] {
  const { namespace, timestamp, node } = event.params;
  const draft = (method: string, data: unknown): DraftEvent => ({
    method,
    params: { namespace: [...namespace], timestamp, ...(node ? { node } : {}), data },
  });
  const data = toJson(event.params.data) as Fields;
  switch (event.method) {
    case "lifecycle":
      return namespace.length === 0 ? [] : [draft("lifecycle", data)];
    case "values": {
      const { __interrupt__: interrupts, ...values } = data;
      const asked = Array.isArray(interrupts) ? (interrupts as { id?: string; value?: unknown }[]) : [];
      return [
        ...(Object.keys(values).length > 0 ? [draft("values", values)] : []),
        ...asked.map(({ id, value }) => draft("input.requested", { interrupt_id: id, payload: value })),
      ];
    }
    case "updates":
      return data.node === "__interrupt__" ? [] : [draft("updates", data)];
    case "tools":
      if (data.event === "tool-error" && isPause(data.message)) return [];
      return [draft("tools", { ...data, ...("input" in data ? { input: parseInput(data.input) } : {}) })];
    default:
      return [draft(event.method.startsWith("custom") ? "custom" : event.method, data)];
  }
}

type Fields = Record<string, unknown>;

/** A tool that called `interrupt()` "fails" with the list of what it asks for. */
function isPause(message: unknown): boolean {
  const asked = typeof message === "string" ? tryParse(message) : undefined;
  return (
    Array.isArray(asked) && asked.every((item) => item !== null && typeof item === "object" && "id" in item)
  );
}

function parseInput(input: unknown): unknown {
  return typeof input === "string" ? (tryParse(input) ?? input) : input;
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON, so it is what it looks like: text.
    return undefined;
  }
}

/** Plain JSON with messages flat: `{ type: "ai", content, id, tool_calls, … }`, the form every client reads. */
export function toJson(value: unknown): unknown {
  if (isBaseMessage(value)) {
    const { lc_direct_tool_output, ...fields } = value.lc_kwargs;
    return {
      ...(toJson({ ...fields, content: value.content, id: value.id }) as Fields),
      type: value.getType(),
    };
  }
  if (Array.isArray(value)) return value.map(toJson);
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (value !== null && typeof value === "object") {
    if ("toJSON" in value && typeof value.toJSON === "function") return value.toJSON();
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toJson(item)]));
  }
  return typeof value === "function" || typeof value === "symbol" ? undefined : value;
}
