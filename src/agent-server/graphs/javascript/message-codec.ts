import { type Payload, pythonType, pythonView } from "../../checkpoints/checkpoint.ts";
import { toMarkedWire } from "../../checkpoints/message-wire.ts";
import type { GraphKit } from "./graph-kit.ts";

export type CodecKit = Pick<GraphKit, "serde" | "messages">;

/** At once where the value is made of plain JSON and messages; a promise where the library's serializer works. */
export type Codec = {
  encode(value: unknown): Payload | Promise<Payload>;
  decode(payload: Payload): unknown | Promise<unknown>;
};

type MessageClass = {
  new (fields: Record<string, unknown>): object;
  prototype: object;
};
type KnownMessage = { id: string[]; create: MessageClass; fieldNames: ReadonlySet<string> };

const messageClassNames = [
  "HumanMessage",
  "AIMessage",
  "AIMessageChunk",
  "SystemMessage",
  "ToolMessage",
  "FunctionMessage",
  "ChatMessage",
  "RemoveMessage",
] as const;

type UnknownRecord = (record: Record<string, unknown>) => unknown;

/** Thrown where only the library's own serializer knows the answer. Never leaves this file. */
const notPlain = new Error("not plain JSON or a known message");
const undefinedRecord = { lc: 2, type: "undefined" };
const giveUp: UnknownRecord = () => {
  throw notPlain;
};
/** Deeper than any state people write by hand; a cycle ends here and the library's serializer cuts it. */
const deepestPlain = 100;

/**
 * The same text and the same values as the graph library's serializer, ten times as fast for the common
 * case: plain JSON and messages. Everything else goes to that serializer, which also decides what it means.
 */
export class MessageCodec implements Codec {
  readonly #kit: CodecKit;
  readonly #byClass = new Map<unknown, KnownMessage>();
  readonly #byName = new Map<string, KnownMessage>();

  constructor(kit: CodecKit) {
    this.#kit = kit;
    for (const name of messageClassNames) {
      const create = kit.messages[name] as unknown as MessageClass | undefined;
      if (create === undefined) continue;
      const known = { id: ["langchain_core", "messages", name], create, fieldNames: aliasedFields(create) };
      this.#byClass.set(create, known);
      this.#byName.set(name, known);
    }
  }

  encode(value: unknown): Payload | Promise<Payload> {
    if (value instanceof Uint8Array) return encodeBytes(value);
    try {
      const text: string | undefined = JSON.stringify(this.#plainTree(value, false, 0));
      if (text !== undefined) return { type: "json", text };
    } catch (error) {
      if (error !== notPlain) throw error;
    }
    return encodeSlowly(this.#kit, value);
  }

  decode(payload: Payload): unknown | Promise<unknown> {
    if (payload.type === "bytes") return new Uint8Array(Buffer.from(payload.text, "base64"));
    if (payload.type === pythonType) return this.#revive(pythonView(payload.text), (record) => record);
    if (payload.type !== "json") return this.#kit.serde.loadsTyped(payload.type, payload.text);
    if (!payload.text.includes('"lc"')) return JSON.parse(payload.text);
    try {
      if (!payload.text.includes('"__lc_escaped__"')) return this.#revive(JSON.parse(payload.text), giveUp);
    } catch (error) {
      if (error !== notPlain) throw error;
    }
    return this.#decodeSlowly(payload.text);
  }

  #plainTree(value: unknown, inMessage: boolean, depth: number): unknown {
    if (typeof value !== "object") {
      if (value === undefined) return inMessage ? undefined : undefinedRecord;
      if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol")
        throw notPlain;
      return value;
    }
    if (value === null) return null;
    if (depth > deepestPlain) throw notPlain;
    if (Array.isArray(value)) return this.#plainArray(value, inMessage, depth);
    const known = this.#byClass.get(value.constructor);
    if (known !== undefined) return this.#messageTree(value, known, depth);
    return this.#plainObject(value as Record<string, unknown>, inMessage, depth);
  }

  /** Copies only where an element changes, so that a plain list goes to JSON.stringify as it is. */
  #plainArray(list: readonly unknown[], inMessage: boolean, depth: number): readonly unknown[] {
    let copy: unknown[] | undefined;
    for (let index = 0; index < list.length; index += 1) {
      const item = list[index];
      const tree = this.#plainTree(item, inMessage, depth + 1);
      if (copy !== undefined) copy[index] = tree;
      else if (tree !== item) {
        copy = list.slice(0, index);
        copy[index] = tree;
      }
    }
    return copy ?? list;
  }

  #plainObject(object: Record<string, unknown>, inMessage: boolean, depth: number): unknown {
    const prototype: unknown = Object.getPrototypeOf(object);
    if (object.lg_name === "Send" && !inMessage) return this.#plainTree(sendFields(object), false, depth);
    if (prototype !== Object.prototype && prototype !== null) throw notPlain;
    if (object.lg_name !== undefined || typeof object.toJSON === "function") throw notPlain;
    let copy: Record<string, unknown> | undefined;
    for (const key of Object.keys(object)) {
      // Inside a message the library escapes such objects, in a way that depends on its version.
      if (inMessage && (key === "lc" || key === "__lc_escaped__")) throw notPlain;
      const item = object[key];
      const tree = this.#plainTree(item, inMessage, depth + 1);
      if (tree === item) continue;
      copy ??= { ...object };
      copy[key] = tree;
    }
    return copy ?? object;
  }

  #messageTree(message: object, known: KnownMessage, depth: number): unknown {
    const own = message as Record<string, unknown> & { lc_kwargs?: Record<string, unknown> };
    const given = own.lc_kwargs;
    if (given === undefined || given === null || Array.isArray(given)) throw notPlain;
    const kwargs: Record<string, unknown> = {};
    for (const key of Object.keys(given)) {
      const item = key in own ? own[key] : given[key];
      if (item === undefined) continue;
      kwargs[serializedName(key)] = this.#plainTree(item, true, depth + 1);
    }
    return { lc: 1, type: "constructor", id: known.id, kwargs };
  }

  /** Works on freshly parsed JSON and changes it in place. `unknownRecord` decides what becomes of other records. */
  #revive(value: unknown, unknownRecord: UnknownRecord): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index += 1) {
        const item: unknown = value[index];
        if (typeof item === "object" && item !== null) value[index] = this.#revive(item, unknownRecord);
      }
      return value;
    }
    const object = value as Record<string, unknown>;
    for (const key of Object.keys(object)) {
      const item = object[key];
      if (typeof item === "object" && item !== null) object[key] = this.#revive(item, unknownRecord);
    }
    if (object.lc !== 1 && object.lc !== 2) return object;
    if (object.lc === 2 && object.type === "undefined") return undefined;
    return this.#reviveMessage(object) ?? unknownRecord(object);
  }

  #reviveMessage(record: Record<string, unknown>): object | undefined {
    const { id, kwargs } = record;
    if (record.lc !== 1 || record.type !== "constructor" || !Array.isArray(id) || !isRecord(kwargs)) {
      return undefined;
    }
    const known =
      id.length === 3 && id[0] === "langchain_core" && id[1] === "messages" && this.#byName.get(id[2]);
    if (!known) return undefined;
    const fields: Record<string, unknown> = {};
    for (const key of Object.keys(kwargs)) {
      if (kwargs[key] === undefined) continue;
      if (known.fieldNames.has(key)) fields[key] = kwargs[key];
      else if (plainFieldName.test(key)) fields[fieldName(key)] = kwargs[key];
      else return undefined;
    }
    return new known.create(fields);
  }

  async #decodeSlowly(text: string): Promise<unknown> {
    try {
      return await this.#kit.serde.loadsTyped("json", text);
    } catch {
      // Data that only looks like a record of the library, or whose class is gone. It stays data:
      // otherwise one such value, which any client can send, would make its thread unreadable.
      return this.#revive(JSON.parse(text), (record) => record);
    }
  }
}

async function encodeSlowly(kit: CodecKit, value: unknown): Promise<Payload> {
  const [type, data] = await kit.serde.dumpsTyped(value);
  return type === "bytes" ? encodeBytes(data) : { type, text: new TextDecoder().decode(data) };
}

function encodeBytes(bytes: Uint8Array): Payload {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  return { type: "bytes", text };
}

function sendFields(send: Record<string, unknown>): Record<string, unknown> {
  const { node, args, timeout } = send;
  return { node, args, ...(timeout === undefined ? {} : { timeout }) };
}

const plainFieldName = /^[a-z0-9]+(_[a-z0-9]+)*$/;

/** Constructor field to serialized name: those of messages are in snake case already, but for one. */
function serializedName(field: string): string {
  if (field === "contentBlocks") return "content_blocks";
  if (!plainFieldName.test(field)) throw notPlain;
  return field;
}

/** Serialized name to constructor field, for names the class does not list. */
function fieldName(serialized: string): string {
  return serialized.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** The fields a class declares, along its ancestors, to be called the same on both sides. */
function aliasedFields(messageClass: MessageClass): Set<string> {
  const names = new Set<string>();
  let prototype: object | null = messageClass.prototype;
  while (prototype !== null && prototype !== Object.prototype) {
    const aliases = Reflect.get(prototype, "lc_aliases") as Record<string, string> | undefined;
    for (const [field, name] of Object.entries(aliases ?? {})) if (field === name) names.add(name);
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  return names;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * For reading states that only go out over HTTP: values become wire JSON at once, without ever being
 * message objects. A graph does not look into them to compute what comes next.
 */
export class WireCodec implements Codec {
  readonly #base: Codec;

  constructor(base: Codec) {
    this.#base = base;
  }

  encode(value: unknown): Payload | Promise<Payload> {
    return this.#base.encode(value);
  }

  decode(payload: Payload): unknown | Promise<unknown> {
    if (payload.type === pythonType) return toMarkedWire(pythonView(payload.text));
    // Records of values JSON does not have, such as delta snapshots, mean something to the graph's channels.
    if (payload.type !== "json" || payload.text.includes('"lc":2')) return this.#base.decode(payload);
    return toMarkedWire(JSON.parse(payload.text));
  }
}
