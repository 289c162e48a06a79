import { toWire } from "../../checkpoints/message-wire.ts";
import type { ProtocolEvent } from "../../delivery/protocol-event.ts";
import type { GraphChunk } from "../../graphs/graph-runtime.ts";

/** An event as the graph library shows it to transformers: with living objects, not JSON. */
type LiveEvent = {
  type: "event";
  seq: number;
  method: string;
  params: { namespace: string[]; timestamp: number; node?: string; data: unknown };
};

/** What a graph's author attached to it to add events of its own. */
type Transformer = {
  init(): unknown;
  onRegister?(emitter: { push(namespace: string[], event: LiveEvent): void }): void;
  process(event: LiveEvent): boolean;
  finalize?(): unknown;
  fail?(error: unknown): void;
};
export type TransformerFactory = () => Transformer;

/** What a transformer may take to finish after the graph has. */
const finishMs = 5_000;

type Channel = { channelName?: unknown; _wire(forward: (item: unknown) => void): void };

/**
 * Runs the transformers of a graph beside the mapping of its events. Their named channels and final values are
 * custom events for clients, as they are for callers in the same process.
 */
export class StreamTransformers {
  readonly #now: () => number;
  readonly #transformers: Transformer[] = [];
  readonly #finals: { name: string; value: PromiseLike<unknown> }[] = [];
  readonly #events: ProtocolEvent[] = [];
  #namespace: string[] = [];
  #seq = 0;

  constructor(factories: readonly TransformerFactory[], now: () => number) {
    this.#now = now;
    for (const make of factories) this.#add(make());
  }

  /** The events that the transformers make of a chunk, and whether the chunk itself is still sent. */
  process(chunk: Extract<GraphChunk, { kind: "chunk" }>): { keep: boolean; events: ProtocolEvent[] } {
    if (this.#transformers.length === 0) return { keep: true, events: [] };
    const keep = this.#push([...chunk.namespace], this.#live(chunk));
    return { keep, events: this.#events.splice(0) };
  }

  /** Their last events at the end of the run, which they can neither prevent nor delay for long. */
  async finish(
    error: Error | undefined,
    onFailure: (error: unknown) => void = () => undefined,
  ): Promise<ProtocolEvent[]> {
    this.#namespace = [];
    for (const transformer of this.#transformers) {
      try {
        if (error) transformer.fail?.(error);
        else await withinLimit(transformer.finalize?.());
      } catch (failure) {
        onFailure(failure);
      }
    }
    // After a failure a final value may never come.
    for (const { name, value } of error ? [] : this.#finals) {
      try {
        this.#custom(name, await withinLimit(value));
      } catch (failure) {
        onFailure(failure);
      }
    }
    return this.#events.splice(0);
  }

  #add(transformer: Transformer): void {
    transformer.onRegister?.({
      push: (namespace, event) => {
        if (this.#push(namespace, event)) this.#events.push(toProtocolEvent(event));
      },
    });
    this.#transformers.push(transformer);
    const projection = transformer.init();
    if ("__native" in transformer || projection === null || typeof projection !== "object") return;
    for (const [name, value] of Object.entries(projection)) {
      if (isChannel(value)) {
        const { channelName } = value;
        if (typeof channelName === "string") value._wire((item) => this.#custom(channelName, item));
      } else if (isPromiseLike(value)) {
        // Its failure does not matter until the value is read.
        Promise.resolve(value).catch(() => undefined);
        this.#finals.push({ name, value });
      }
    }
  }

  #push(namespace: string[], event: LiveEvent): boolean {
    const outer = this.#namespace;
    this.#namespace = namespace;
    let keep = true;
    for (const transformer of this.#transformers) if (!transformer.process(event)) keep = false;
    this.#namespace = outer;
    return keep;
  }

  #custom(name: string, item: unknown): void {
    const data = { name, payload: toWire(item) };
    const params = { namespace: [...this.#namespace], timestamp: this.#now(), data };
    this.#events.push({ method: "custom", params });
  }

  #live({ namespace, mode, payload }: Extract<GraphChunk, { kind: "chunk" }>): LiveEvent {
    const base = { namespace: [...namespace], timestamp: this.#now() };
    const event = (params: Omit<LiveEvent["params"], "namespace" | "timestamp">): LiveEvent => ({
      type: "event",
      seq: this.#seq++,
      method: mode,
      params: { ...base, ...params },
    });
    if (mode === "messages") {
      const [data, metadata] = payload as [object, { langgraph_node?: string; run_id?: string }];
      const node = metadata.langgraph_node;
      return event({ ...(node ? { node } : {}), data: { ...data, run_id: metadata.run_id } });
    }
    if (mode === "updates") {
      const [node, values] = Object.entries((payload ?? {}) as object)[0] ?? [];
      return event({ ...(node ? { node } : {}), data: { node, values } });
    }
    return event({ data: payload });
  }
}

async function withinLimit(work: unknown): Promise<unknown> {
  if (!isPromiseLike(work)) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`A stream transformer had not finished ${finishMs / 1000} s after the run.`)),
    finishMs,
  );
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

function toProtocolEvent(event: LiveEvent): ProtocolEvent {
  const { namespace, timestamp, node, data } = event.params;
  const named = /^custom:(.+)$/s.exec(event.method)?.[1];
  const params = { namespace: [...namespace], timestamp, ...(node ? { node } : {}) };
  return (
    named === undefined
      ? { method: event.method, params: { ...params, data: toWire(data) } }
      : { method: "custom", params: { ...params, data: { name: named, payload: toWire(data) } } }
  ) as ProtocolEvent;
}

function isChannel(value: unknown): value is Channel {
  return value !== null && typeof value === "object" && typeof (value as Channel)._wire === "function";
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return (
    value !== null && typeof value === "object" && typeof (value as PromiseLike<unknown>).then === "function"
  );
}
