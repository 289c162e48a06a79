import { WireText } from "../../checkpoints/wire-text.ts";
import type { GraphChunk, GraphMode, GraphPart } from "../graph-runtime.ts";
import type { Incoming } from "./call-stream.ts";

type PartMeta = {
  /** Name as it goes out, and namespace. */
  events?: [name: string, namespace: string][];
  /** The segment of each event, counted from 1; in order where it is missing. */
  at?: number[];
  invites?: boolean;
  mode: GraphMode | "events";
  ns?: string[];
  /** The segment of the chunk itself. */
  chunk?: number;
  /** Of the mode `messages`, for the protocol: a piece of a message, or all of one. */
  message?: "piece" | "whole";
};

/** What Python streams has its wire form already: it goes out as it came. Only the streaming protocol looks inside. */
export function toPart({ meta, segments }: Incoming, protocol: boolean): GraphPart {
  const { events = [], at, invites = false, mode, ns = [], chunk, message } = meta as PartMeta;
  const texts = new Map<number, string>();
  const textAt = (index: number): string => {
    const known = texts.get(index);
    if (known !== undefined) return known;
    const text = segments[index - 1]!.toString();
    texts.set(index, text);
    return text;
  };
  const payload =
    chunk === undefined
      ? undefined
      : protocol
        ? spoken(JSON.parse(textAt(chunk)), message)
        : new WireText([segments[chunk - 1]!]);
  return {
    events: events.map(([name, namespace], index) => ({
      name,
      namespace,
      data: textAt(at?.[index] ?? index + 1),
    })),
    invites,
    chunk: chunkOf(mode, ns, payload),
  };
}

function chunkOf(mode: PartMeta["mode"], namespace: readonly string[], payload: unknown): GraphChunk {
  return mode === "events" ? { kind: "event", event: payload } : { kind: "chunk", namespace, mode, payload };
}

type Spoken = [message: Record<string, unknown>, metadata: unknown];

/** Messages have the shape by which those of JavaScript's library are known. */
function spoken(payload: unknown, form: PartMeta["message"]): unknown {
  if (form === undefined) return payload;
  const [message, metadata] = payload as Spoken;
  const shape = { ...message, _getType: () => String(message.type) };
  return [form === "piece" ? { ...shape, concat: () => shape } : shape, metadata];
}
