import type { MessageMetadata, MessagesData, MessagesEvent } from "@langchain/protocol";
import { toWire } from "../../checkpoints/message-wire.ts";
import { type ClassicMessage, isPiece, MessageBlocks } from "./message-blocks.ts";

type Metadata = Record<string, unknown>;
type OpenMessage = { blocks: MessageBlocks; namespace: readonly string[]; metadata: Metadata; task: string };

/** Events of the `messages` channel, from content blocks or message pieces of the library. */
export class MessageEvents {
  readonly #now: () => number;
  readonly #open = new Map<string, OpenMessage>();
  readonly #finished = new Set<string>();

  constructor(now: () => number) {
    this.#now = now;
  }

  map(namespace: readonly string[], payload: unknown): MessagesEvent[] {
    const [spoken, metadata] = payload as [unknown, Metadata];
    if (isClassic(spoken)) return this.#classic(namespace, spoken, metadata);
    return [this.#event(namespace, metadata, toWire(spoken) as MessagesData)];
  }

  /** A task is over: messages whose pieces it sent have no more to come. */
  finishUnder(prefix: string): MessagesEvent[] {
    const events: MessagesEvent[] = [];
    for (const [id, { task }] of this.#open) {
      if (prefix === "" || task === prefix || task.startsWith(`${prefix}|`)) events.push(...this.#finish(id));
    }
    return events;
  }

  #classic(namespace: readonly string[], message: ClassicMessage, metadata: Metadata): MessagesEvent[] {
    // Results of tools have a separate channel.
    if (message._getType() === "tool" || !message.id || this.#finished.has(message.id)) return [];
    let open = this.#open.get(message.id);
    if (!open) {
      const place = isOfNode(message, metadata) ? taskOf(metadata) : undefined;
      open = openMessage(message.id, place ?? namespace, metadata);
      this.#open.set(message.id, open);
    }
    const { namespace: told, metadata: about } = open;
    const events = open.blocks.add(message).map((data) => this.#event(told, about, data));
    return isPiece(message) ? events : [...events, ...this.#finish(message.id)];
  }

  #finish(id: string): MessagesEvent[] {
    const open = this.#open.get(id);
    if (!open) return [];
    this.#open.delete(id);
    this.#finished.add(id);
    return open.blocks.finish().map((data) => this.#event(open.namespace, open.metadata, data));
  }

  #event(namespace: readonly string[], metadata: Metadata, data: MessagesData): MessagesEvent {
    const node = metadata.langgraph_node;
    const runId = typeof metadata.run_id === "string" ? { run_id: metadata.run_id } : {};
    return {
      method: "messages",
      params: {
        namespace: [...namespace],
        timestamp: this.#now(),
        ...(typeof node === "string" ? { node } : {}),
        data:
          data.event === "message-start"
            ? { ...completeStart(data, metadata), ...runId }
            : { ...data, ...runId },
      },
    };
  }
}

/**
 * Clients tell messages that are spoken at once by `run_id`. Pieces have that of the whole run, so theirs is made of
 * the message's id. The task is where the message comes from, which its namespace need not say.
 */
function openMessage(id: string, namespace: readonly string[], metadata: Metadata): OpenMessage {
  return {
    blocks: new MessageBlocks(id),
    namespace,
    metadata: { ...metadata, run_id: id.replace(/^(lc_)?run-+/, "") },
    task: (taskOf(metadata) ?? namespace).join("|"),
  };
}

/**
 * A message that a node made itself, without a model. It is sent in the namespace of the node: TypeScript clients look
 * for it there, and Python clients take all messages in a graph's own namespace for a model's.
 */
function isOfNode(message: ClassicMessage, metadata: Metadata): boolean {
  return !isPiece(message) && metadata.ls_model_type === undefined;
}

function taskOf({ langgraph_checkpoint_ns: place }: Metadata): string[] | undefined {
  return typeof place === "string" ? place.split("|") : undefined;
}

/** The library leaves out the author of a model's message and what made it. */
function completeStart(data: MessagesData, metadata: Metadata): MessagesData {
  const about: MessageMetadata = {};
  if (typeof metadata.ls_provider === "string") about.provider = metadata.ls_provider;
  if (typeof metadata.ls_model_name === "string") about.model = metadata.ls_model_name;
  if (typeof metadata.ls_model_type === "string") about.model_type = metadata.ls_model_type;
  return {
    role: "ai",
    ...(Object.keys(about).length > 0 ? { metadata: about } : {}),
    ...data,
  } as MessagesData;
}

function isClassic(value: unknown): value is ClassicMessage {
  return value !== null && typeof value === "object" && "_getType" in value;
}
