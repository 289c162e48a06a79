import { RefusedPart } from "../wire/refused-part.ts";
import type { OtlpAttributes, OtlpSpan } from "./otlp-span.ts";
import { readFields } from "./protobuf-reader.ts";

/** The spans of an OTLP request in its binary form. The numbers are those of the published schema. */
export function readOtlpProtobuf(body: Buffer): OtlpSpan[] {
  const spans: OtlpSpan[] = [];
  for (const { number, value } of readFields(body)) {
    if (number === 1) readResourceSpans(message(value), spans);
  }
  return spans;
}

function readResourceSpans(bytes: Buffer, spans: OtlpSpan[]): void {
  const resource: OtlpAttributes = {};
  // The resource may be written after the spans it describes.
  for (const { number, value } of readFields(bytes)) {
    if (number !== 1) continue;
    for (const field of readFields(message(value)))
      if (field.number === 1) addAttribute(message(field.value), resource, 0);
  }
  for (const { number, value } of readFields(bytes)) {
    if (number !== 2) continue;
    for (const field of readFields(message(value))) {
      if (field.number === 2) spans.push(readSpan(message(field.value), resource));
    }
  }
}

function readSpan(bytes: Buffer, resource: OtlpAttributes): OtlpSpan {
  const span: OtlpSpan = {
    traceId: "",
    spanId: "",
    parentSpanId: "",
    name: "",
    startNanos: 0n,
    endNanos: 0n,
    attributes: {},
    events: [],
    statusCode: 0,
    statusMessage: "",
    resource,
  };
  for (const { number, value } of readFields(bytes)) {
    if (number === 1) span.traceId = message(value).toString("hex");
    else if (number === 2) span.spanId = message(value).toString("hex");
    else if (number === 4) span.parentSpanId = message(value).toString("hex");
    else if (number === 5) span.name = message(value).toString("utf8");
    else if (number === 7) span.startNanos = whole(value);
    else if (number === 8) span.endNanos = whole(value);
    else if (number === 9) addAttribute(message(value), span.attributes, 0);
    else if (number === 11) span.events.push(readEvent(message(value)));
    else if (number === 15) readStatus(message(value), span);
  }
  return span;
}

function readEvent(bytes: Buffer): OtlpSpan["events"][number] {
  const event: OtlpSpan["events"][number] = { name: "", timeNanos: 0n, attributes: {} };
  for (const { number, value } of readFields(bytes)) {
    if (number === 1) event.timeNanos = whole(value);
    else if (number === 2) event.name = message(value).toString("utf8");
    else if (number === 3) addAttribute(message(value), event.attributes, 0);
  }
  return event;
}

function readStatus(bytes: Buffer, span: OtlpSpan): void {
  for (const { number, value } of readFields(bytes)) {
    if (number === 2) span.statusMessage = message(value).toString("utf8");
    else if (number === 3) span.statusCode = Number(whole(value));
  }
}

function addAttribute(bytes: Buffer, attributes: OtlpAttributes, depth: number): void {
  let key = "";
  let content: unknown = null;
  for (const { number, value } of readFields(bytes, depth)) {
    if (number === 1) key = message(value).toString("utf8");
    else if (number === 2) content = anyValue(message(value), depth + 1);
  }
  attributes[key] = content;
}

function anyValue(bytes: Buffer, depth: number): unknown {
  let result: unknown = null;
  for (const { number, value } of readFields(bytes, depth)) {
    if (number === 1) result = message(value).toString("utf8");
    else if (number === 2) result = whole(value) !== 0n;
    else if (number === 3) result = Number(BigInt.asIntN(64, whole(value)));
    else if (number === 4) result = double(whole(value));
    else if (number === 5) result = arrayValue(message(value), depth + 1);
    else if (number === 6) {
      const inner: OtlpAttributes = {};
      for (const field of readFields(message(value), depth + 1))
        addAttribute(message(field.value), inner, depth + 1);
      result = inner;
    } else if (number === 7) result = message(value).toString("base64");
  }
  return result;
}

function arrayValue(bytes: Buffer, depth: number): unknown[] {
  return [...readFields(bytes, depth)].map((field) => anyValue(message(field.value), depth + 1));
}

function double(bits: bigint): number {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(bits);
  return buffer.readDoubleLE();
}

function message(value: bigint | Buffer): Buffer {
  if (typeof value === "bigint") throw new RefusedPart("The message does not follow the OTLP schema.");
  return value;
}

function whole(value: bigint | Buffer): bigint {
  if (typeof value !== "bigint") throw new RefusedPart("The message does not follow the OTLP schema.");
  return value;
}
