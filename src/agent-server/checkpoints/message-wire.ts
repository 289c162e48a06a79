/** What goes out over HTTP: JSON only, with messages flat (`{type, content, id, …}`). */
export type Wire = null | boolean | number | string | Wire[] | { [key: string]: Wire };

const typeByClass: Readonly<Record<string, string>> = {
  HumanMessage: "human",
  AIMessage: "ai",
  SystemMessage: "system",
  ToolMessage: "tool",
  FunctionMessage: "function",
  ChatMessage: "generic",
  RemoveMessage: "remove",
};

/** On objects that are wire JSON already, so that they are not walked again; JSON does not show symbols. */
const wireMark = Symbol("wire");

/** `toWire` for a value that will be asked for again, perhaps as part of another one. */
export function toMarkedWire(value: unknown): Wire {
  const wire = toWire(value);
  if (typeof wire === "object" && wire !== null) Object.defineProperty(wire, wireMark, { value: true });
  return wire;
}

/**
 * Any state, update or event as wire JSON. Takes living objects (message instances of any copy of the
 * library, Sets, errors …) as well as parsed checkpoint JSON in which they are `lc` records.
 */
export function toWire(value: unknown): Wire {
  return convert(value, []) ?? null;
}

/** Undefined where JSON would leave the value out. */
function convert(value: unknown, ancestors: object[]): Wire | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "bigint":
      return value.toString();
    case "object":
      break;
    default:
      return undefined;
  }
  if (value === null) return null;
  if (wireMark in value) return value as Wire;
  if (ancestors.includes(value)) return "[Circular]";
  ancestors.push(value);
  const converted = Array.isArray(value) ? convertList(value, ancestors) : convertObject(value, ancestors);
  ancestors.pop();
  return converted;
}

function convertList(list: Iterable<unknown>, ancestors: object[]): Wire[] {
  const result: Wire[] = [];
  for (const item of list) result.push(convert(item, ancestors) ?? null);
  return result;
}

function convertObject(value: object, ancestors: object[]): Wire | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) {
    return convertPlain(value as Record<string, unknown>, ancestors);
  }
  if (isMessage(value)) return messageFromInstance(value, ancestors);
  if (value instanceof Set) return convertList(value, ancestors);
  if (value instanceof Map) return convertMap(value, ancestors);
  if (value instanceof Error) return { error: value.name, message: value.message };
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof RegExp) return String(value);
  if ("lg_name" in value && value.lg_name === "DeltaSnapshot") {
    return convert((value as { value?: unknown }).value, ancestors);
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return convert(value.toJSON(), ancestors);
  return convertFields(value as Record<string, unknown>, ancestors);
}

function convertPlain(object: Record<string, unknown>, ancestors: object[]): Wire | undefined {
  if (object.lc === 1 && object.type === "constructor") return fromConstructorRecord(object, ancestors);
  if (object.lc === 2) return fromValueRecord(object, ancestors);
  if (typeof object.toJSON === "function") return convert(object.toJSON(), ancestors);
  return convertFields(object, ancestors);
}

function convertFields(object: Record<string, unknown>, ancestors: object[]): { [key: string]: Wire } {
  const result: { [key: string]: Wire } = {};
  for (const key of Object.keys(object)) {
    const item = convert(object[key], ancestors);
    if (item === undefined) continue;
    if (key === "__proto__") Object.defineProperty(result, key, { value: item, enumerable: true });
    else result[key] = item;
  }
  return result;
}

function convertMap(map: ReadonlyMap<unknown, unknown>, ancestors: object[]): Wire {
  const entries = [...map];
  if (!entries.every(([key]) => typeof key === "string")) return convertList(entries, ancestors);
  return convertFields(Object.fromEntries(entries) as Record<string, unknown>, ancestors);
}

type MessageInstance = { lc_kwargs: Record<string, unknown>; getType?(): string; _getType(): string };

/** By shape: the graph may use another copy of the library, whose classes are not ours. */
function isMessage(value: object): value is MessageInstance {
  return "_getType" in value && typeof value._getType === "function" && "lc_kwargs" in value;
}

function messageFromInstance(message: MessageInstance, ancestors: object[]): Wire {
  const own = message as unknown as Record<string, unknown>;
  const kwargs: Record<string, unknown> = {};
  for (const key of Object.keys(message.lc_kwargs))
    kwargs[key] = key in own ? own[key] : message.lc_kwargs[key];
  return flatMessage(message._getType(), kwargs, ancestors);
}

function fromConstructorRecord(record: Record<string, unknown>, ancestors: object[]): Wire {
  const { id, kwargs } = record;
  if (!Array.isArray(id) || typeof kwargs !== "object" || kwargs === null)
    return convertFields(record, ancestors);
  const name = String(id.at(-1)).replace(/Chunk$/, "");
  const isMessageRecord = id.includes("messages") && Object.hasOwn(typeByClass, name);
  if (!isMessageRecord) return convertFields(record, ancestors);
  return flatMessage(typeByClass[name]!, kwargs as Record<string, unknown>, ancestors);
}

function flatMessage(type: string, kwargs: Record<string, unknown>, ancestors: object[]): Wire {
  const { content, contentBlocks, content_blocks, additional_kwargs, response_metadata, ...rest } = kwargs;
  const fields = convertFields(rest, ancestors);
  return {
    ...fields,
    type,
    content: convert(content ?? contentBlocks ?? content_blocks, ancestors) ?? [],
    additional_kwargs: convert(additional_kwargs, ancestors) ?? {},
    response_metadata: convert(response_metadata, ancestors) ?? {},
    ...(type === "ai" ? { tool_calls: fields.tool_calls ?? [] } : {}),
    ...(type === "ai" ? { invalid_tool_calls: fields.invalid_tool_calls ?? [] } : {}),
  };
}

/** The records the library's serializer makes of values JSON does not have. */
function fromValueRecord(record: Record<string, unknown>, ancestors: object[]): Wire | undefined {
  if (record.type === "undefined") return undefined;
  if (record.type === "delta_snapshot") return convert(record.value, ancestors);
  const name = Array.isArray(record.id) ? record.id[0] : undefined;
  const [first, second] = Array.isArray(record.args) ? record.args : [];
  if (name === "Set" && Array.isArray(first)) return convertList(first, ancestors);
  if (name === "Map" && Array.isArray(first))
    return convertMap(new Map(first as [unknown, unknown][]), ancestors);
  if (name === "Error") return { error: "Error", message: String(first) };
  if (name === "RegExp") return `/${first}/${second}`;
  if (name === "Uint8Array" && Array.isArray(first)) return Buffer.from(first).toString("base64");
  return convertFields(record, ancestors);
}
