import { checkpointOf, publicConfigurable } from "../../checkpoints/checkpoint-view.ts";
import { toWire } from "../../checkpoints/message-wire.ts";
import type { StreamMode } from "../graph-call.ts";
import type { GraphChunk } from "../graph-runtime.ts";

/** An event of a run's stream, named as on the wire. */
export type RunEvent = { name: string; namespace: string; data: unknown };

type Message = { id?: string; [key: string]: unknown };
type ConcatMessage = Message & { concat?(other: unknown): ConcatMessage };

/**
 * Turns the graph's chunks into the events of the requested stream modes.
 * One per run: the `messages` mode accumulates.
 */
export class RunEventMapper {
  readonly #modes: ReadonlySet<StreamMode>;
  readonly #partial = new Map<string, ConcatMessage>();
  readonly #complete = new Set<string>();

  constructor(modes: readonly StreamMode[]) {
    this.#modes = new Set(modes);
  }

  map(chunk: GraphChunk): RunEvent[] {
    if (chunk.kind === "event") return [{ name: "events", namespace: "", data: toWire(chunk.event) }];
    const { mode, payload } = chunk;
    const namespace = chunk.namespace.join("|");
    if (mode === "messages") return this.#messages(payload, namespace);
    const events: RunEvent[] = [];
    // A mode that was not asked for is read for something else, such as a state that may be large: it is not written.
    if (this.#modes.has(mode)) events.push(event(mode, namespace, toWire(payloadOf(mode, payload))));
    if (mode === "values" && this.#modes.has("messages") && namespace === "")
      events.push(...this.#completed(payload));
    return events;
  }

  /** `messages-tuple` passes chunks on; `messages` sends the text so far each time. */
  #messages(payload: unknown, namespace: string): RunEvent[] {
    const [message, metadata] = payload as [ConcatMessage, unknown];
    const events: RunEvent[] = [];
    if (this.#modes.has("messages-tuple")) {
      events.push(event("messages", namespace, [toWire(message), toWire(metadata)]));
    }
    if (!this.#modes.has("messages") || !message.id || !isChunk(message)) return events;
    const before = this.#partial.get(message.id);
    // Without the namespace, also for subgraphs: clients match these exact names, and the metadata holds it.
    if (!before)
      events.push(event("messages/metadata", "", { [message.id]: { metadata: toWire(metadata) } }));
    const now = before?.concat ? before.concat(message) : message;
    this.#partial.set(message.id, now);
    events.push(event("messages/partial", "", [toWire(now)]));
    return events;
  }

  #completed(values: unknown): RunEvent[] {
    const messages = (values as { messages?: unknown } | null)?.messages;
    if (!Array.isArray(messages)) return [];
    const events: RunEvent[] = [];
    for (const message of messages as Message[]) {
      if (!message.id || this.#complete.has(message.id)) continue;
      this.#complete.add(message.id);
      this.#partial.delete(message.id);
      events.push(event("messages/complete", "", [toWire(message)]));
    }
    return events;
  }
}

function event(name: string, namespace: string, data: unknown): RunEvent {
  return { name: namespace === "" ? name : `${name}|${namespace}`, namespace, data };
}

function payloadOf(mode: StreamMode, payload: unknown): unknown {
  if (mode === "debug") return debugPayload(payload);
  if (mode === "checkpoints") return checkpointPayload(payload);
  return mode === "tasks" ? taskPayload(payload) : payload;
}

function isChunk(message: ConcatMessage): boolean {
  return typeof message.concat === "function";
}

type Config = { configurable?: Record<string, unknown> };
type CheckpointPayload = {
  config?: Config;
  parentConfig?: Config;
  values?: unknown;
  metadata?: unknown;
  next?: unknown;
  tasks?: unknown;
};

function checkpointPayload(payload: unknown): unknown {
  const { values, metadata, next } = payload as CheckpointPayload;
  return { values, metadata, next };
}

/** Debug checkpoints carry internal objects in their config and name the parent in camel case. */
function debugPayload(payload: unknown): unknown {
  const debug = payload as { type?: string; payload?: CheckpointPayload };
  if (debug.type === "task_result") return { ...debug, payload: taskPayload(debug.payload) };
  if (debug.type !== "checkpoint" || !debug.payload) return payload;
  const { config, parentConfig, ...rest } = debug.payload;
  if (Array.isArray(rest.tasks)) rest.tasks = rest.tasks.map(taskPayload);
  return {
    ...debug,
    payload: {
      ...rest,
      config: publicConfig(config),
      parent_config: publicConfig(parentConfig),
      checkpoint: checkpointOf(config),
      parent_checkpoint: checkpointOf(parentConfig),
    },
  };
}

/** A task that runs a subgraph names its checkpoint by the config of the subgraph's state. */
function taskPayload(payload: unknown): unknown {
  const { state, ...task } = (payload ?? {}) as { state?: unknown };
  const config = state as Config | null | undefined;
  if (typeof config?.configurable?.thread_id !== "string") return payload;
  return { ...task, checkpoint: checkpointOf(config) };
}

function publicConfig(config: Config | undefined): unknown {
  if (!config) return null;
  return { ...config, configurable: publicConfigurable(config.configurable) };
}
