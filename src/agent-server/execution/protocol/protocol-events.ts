import type {
  AgentStatus,
  Checkpoint,
  CustomData,
  InputEvent,
  ToolsData,
  UpdatesData,
} from "@langchain/protocol";
import { toWire } from "../../checkpoints/message-wire.ts";
import type { ProtocolEvent } from "../../delivery/protocol-event.ts";
import { rootLifecycle } from "../../delivery/terminal-event.ts";
import type { GraphChunk } from "../../graphs/graph-runtime.ts";
import { MessageEvents } from "./message-events.ts";
import { NamespaceLifecycle } from "./namespace-lifecycle.ts";
import { StreamTransformers, type TransformerFactory } from "./stream-transformers.ts";

const interruptKey = "__interrupt__";
type JsonObject = Record<string, unknown>;

/** Turns a graph's chunks into events of the streaming protocol. One per attempt of a run. */
export class ProtocolEventMapper {
  readonly #graphName: string;
  readonly #now: () => number;
  readonly #lifecycle: NamespaceLifecycle;
  readonly #messages: MessageEvents;
  readonly #requested = new Set<string>();
  #transformers: StreamTransformers;

  constructor(graphName: string, now: () => number) {
    this.#graphName = graphName;
    this.#now = now;
    this.#lifecycle = new NamespaceLifecycle(now);
    this.#messages = new MessageEvents(now);
    this.#transformers = new StreamTransformers([], now);
  }

  /** Known only once the graph is there; before that the run has already begun to speak. */
  attach(factories: readonly TransformerFactory[]): void {
    this.#transformers = new StreamTransformers(factories, this.#now);
  }

  start(): ProtocolEvent {
    return rootLifecycle("running", this.#graphName, this.#now());
  }

  /** The state from which a retried attempt continues, for clients that followed the attempt that died. */
  snapshot(values: unknown): ProtocolEvent[] {
    return this.#values([], values);
  }

  map(chunk: GraphChunk): ProtocolEvent[] {
    if (chunk.kind !== "chunk") return [];
    const { keep, events } = this.#transformers.process(chunk);
    return [...this.#inOrder(events), ...(keep ? this.#inOrder(this.#events(chunk), chunk.namespace) : [])];
  }

  /** Everything below the root comes to its end before the root does. */
  async finish(
    status: AgentStatus,
    failure: { error?: string | undefined; onTransformerFailure?(error: unknown): void } = {},
  ): Promise<ProtocolEvent[]> {
    const error = status === "failed" ? new Error(failure.error) : undefined;
    const last = await this.#transformers.finish(error, failure.onTransformerFailure);
    return [...this.#messages.finishUnder(""), ...this.#inOrder(last), ...this.#lifecycle.finish(status)];
  }

  /** The events, each after the lifecycle events of the namespace that it comes from. */
  #inOrder(events: readonly ProtocolEvent[], source?: readonly string[]): ProtocolEvent[] {
    return events.flatMap((event) => {
      const { data, namespace } = event.params;
      if (event.method !== "lifecycle")
        return [
          ...this.#lifecycle.observe({ method: event.method, namespace: source ?? namespace, data }),
          event,
        ];
      // A transformer knows what caused a namespace; its beginning and end come from here.
      return this.#lifecycle.announce(namespace, event.params.data.cause);
    });
  }

  #events({ namespace, mode, payload }: Extract<GraphChunk, { kind: "chunk" }>): ProtocolEvent[] {
    switch (mode) {
      case "values":
        return this.#values(namespace, payload);
      case "updates":
        return this.#updates(namespace, payload);
      case "messages":
        return this.#messages.map(namespace, payload);
      case "tasks":
        return this.#tasks(namespace, payload);
      case "tools":
        return [{ method: "tools", params: { ...this.#place(namespace), data: toolsData(payload) } }];
      case "custom":
        return [{ method: "custom", params: { ...this.#place(namespace), data: customData(payload) } }];
      case "checkpoints": {
        const data = checkpointOf(payload);
        return data ? [{ method: "checkpoints", params: { ...this.#place(namespace), data } }] : [];
      }
      default:
        return [];
    }
  }

  #values(namespace: readonly string[], payload: unknown): ProtocolEvent[] {
    const { [interruptKey]: interrupts, ...rest } = asObject(payload);
    const data = toWire(rest) as JsonObject;
    const events: ProtocolEvent[] = this.#inputRequests(namespace, interrupts);
    if (Object.keys(data).length > 0)
      events.unshift({ method: "values", params: { ...this.#place(namespace), data } });
    return events;
  }

  #updates(namespace: readonly string[], payload: unknown): ProtocolEvent[] {
    return Object.entries(asObject(payload)).flatMap(([node, update]): ProtocolEvent[] => {
      if (node === interruptKey) return this.#inputRequests(namespace, update);
      const values = toWire(update);
      const data: UpdatesData = { node, values: isObject(values) ? values : { value: values } };
      return [{ method: "updates", params: { ...this.#place(namespace), ...{ node }, data } }];
    });
  }

  #tasks(namespace: readonly string[], payload: unknown): ProtocolEvent[] {
    const data = toWire(payload) as JsonObject;
    const ended = "result" in data || "error" in data;
    const place = [...namespace, `${data.name}:${data.id}`].join("|");
    return [
      ...(ended ? this.#messages.finishUnder(place) : []),
      { method: "tasks", params: { ...this.#place(namespace), data } },
    ];
  }

  /** A request is sent once per run, though the graph repeats it at every level above. */
  #inputRequests(namespace: readonly string[], interrupts: unknown): InputEvent[] {
    if (!Array.isArray(interrupts)) return [];
    const events: InputEvent[] = [];
    for (const interrupt of interrupts as { id?: string; value?: unknown }[]) {
      const id = interrupt.id ?? "";
      if (this.#requested.has(id)) continue;
      this.#requested.add(id);
      const value = toWire(interrupt.value);
      // Clients in TypeScript read `payload`, those in Python `value`.
      const data = { interrupt_id: id, payload: value, value };
      events.push({ method: "input.requested", params: { ...this.#place(namespace), data } });
    }
    return events;
  }

  #place(namespace: readonly string[]): { namespace: string[]; timestamp: number } {
    return { namespace: [...namespace], timestamp: this.#now() };
  }
}

function toolsData(payload: unknown): ToolsData {
  const tool = asObject(payload);
  const tool_call_id = String(tool.toolCallId ?? "");
  switch (tool.event) {
    case "on_tool_start":
      return {
        event: "tool-started",
        tool_call_id,
        tool_name: String(tool.name ?? ""),
        input: parsedInput(tool.input),
      };
    case "on_tool_event": {
      const { data } = tool;
      return {
        event: "tool-output-delta",
        tool_call_id,
        delta: typeof data === "string" ? data : JSON.stringify(toWire(data)),
      };
    }
    case "on_tool_end":
      return { event: "tool-finished", tool_call_id, output: toWire(tool.output) };
    default: {
      const { error } = tool;
      const message = error instanceof Error ? error.message : typeof error === "string" ? error : undefined;
      return { event: "tool-error", tool_call_id, message: message ?? "The tool failed." };
    }
  }
}

/** Callbacks carry a tool's arguments as JSON text. */
function parsedInput(input: unknown): unknown {
  if (typeof input !== "string") return toWire(input);
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

/** A name makes a custom event one that can be subscribed to alone; the rest is its payload. */
function customData(payload: unknown): CustomData {
  const wire = toWire(payload);
  if (!isObject(wire) || typeof wire.name !== "string" || wire.name === "") return { payload: wire };
  const { name, ...rest } = wire;
  return "payload" in wire ? { ...wire, payload: wire.payload } : { ...wire, name, payload: rest };
}

/** Either the library's short form, or, when a client asked for whole checkpoints, taken from those. */
function checkpointOf(payload: unknown): Checkpoint | undefined {
  const given = asObject(payload);
  const meta = asObject(given.metadata);
  const config = asObject(asObject(given.config).configurable);
  const parent = asObject(asObject(given.parentConfig).configurable);
  const id = given.id ?? config.checkpoint_id;
  const parentId = given.parent_id ?? parent.checkpoint_id;
  if (typeof id !== "string") return undefined;
  return {
    id,
    ...(typeof parentId === "string" ? { parent_id: parentId } : {}),
    step: Number(given.step ?? meta.step ?? 0),
    source: (given.source ?? meta.source ?? "loop") as Checkpoint["source"],
  };
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
