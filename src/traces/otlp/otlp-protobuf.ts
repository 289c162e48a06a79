import type { OtlpAttributes, OtlpSpan } from "./otlp-span.ts";
import { MessageReader, refusingDamage } from "./protobuf-reader.ts";

/** The spans of an OTLP request in its binary form. The numbers are those of the published schema. */
export function readOtlpProtobuf(body: Buffer): OtlpSpan[] {
  return refusingDamage(() => {
    const spans: OtlpSpan[] = [];
    const request = new MessageReader(body);
    for (let field = request.next(); field !== 0; field = request.next()) {
      if (field === 1) readResourceSpans(request.message(), spans);
    }
    return spans;
  });
}

function readResourceSpans(group: MessageReader, spans: OtlpSpan[]): void {
  // The resource may be written after the spans it describes; they share the object.
  const resource: OtlpAttributes = {};
  for (let field = group.next(); field !== 0; field = group.next()) {
    if (field === 1) readResource(group.message(), resource);
    else if (field === 2) readScope(group.message(), resource, spans);
  }
}

function readResource(message: MessageReader, resource: OtlpAttributes): void {
  for (let field = message.next(); field !== 0; field = message.next()) {
    if (field === 1) addAttribute(message.message(), resource);
  }
}

function readScope(message: MessageReader, resource: OtlpAttributes, spans: OtlpSpan[]): void {
  for (let field = message.next(); field !== 0; field = message.next()) {
    if (field === 2) spans.push(readSpan(message.message(), resource));
  }
}

function readSpan(message: MessageReader, resource: OtlpAttributes): OtlpSpan {
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
  for (let field = message.next(); field !== 0; field = message.next()) {
    if (field === 1) span.traceId = message.bytes().toString("hex");
    else if (field === 2) span.spanId = message.bytes().toString("hex");
    else if (field === 4) span.parentSpanId = message.bytes().toString("hex");
    else if (field === 5) span.name = message.text();
    else if (field === 7) span.startNanos = message.fixed64();
    else if (field === 8) span.endNanos = message.fixed64();
    else if (field === 9) addAttribute(message.message(), span.attributes);
    else if (field === 11) span.events.push(readEvent(message.message()));
    else if (field === 15) readStatus(message.message(), span);
  }
  return span;
}

function readEvent(message: MessageReader): OtlpSpan["events"][number] {
  const event: OtlpSpan["events"][number] = { name: "", timeNanos: 0n, attributes: {} };
  for (let field = message.next(); field !== 0; field = message.next()) {
    if (field === 1) event.timeNanos = message.fixed64();
    else if (field === 2) event.name = message.text();
    else if (field === 3) addAttribute(message.message(), event.attributes);
  }
  return event;
}

function readStatus(message: MessageReader, span: OtlpSpan): void {
  for (let field = message.next(); field !== 0; field = message.next()) {
    if (field === 2) span.statusMessage = message.text();
    else if (field === 3) span.statusCode = message.int64();
  }
}

function addAttribute(message: MessageReader, attributes: OtlpAttributes): void {
  let key = "";
  let content: unknown = null;
  for (let field = message.next(); field !== 0; field = message.next()) {
    if (field === 1) key = message.text();
    else if (field === 2) content = anyValue(message.message());
  }
  attributes[key] = content;
}

function anyValue(message: MessageReader): unknown {
  let result: unknown = null;
  for (let field = message.next(); field !== 0; field = message.next()) {
    if (field === 1) result = message.text();
    else if (field === 2) result = message.int64() !== 0;
    else if (field === 3) result = message.int64();
    else if (field === 4) result = message.double();
    else if (field === 5) result = arrayValue(message.message());
    else if (field === 6) result = mapValue(message.message());
    else if (field === 7) result = message.bytes().toString("base64");
  }
  return result;
}

function arrayValue(message: MessageReader): unknown[] {
  const values: unknown[] = [];
  while (message.next() !== 0) values.push(anyValue(message.message()));
  return values;
}

function mapValue(message: MessageReader): OtlpAttributes {
  const inner: OtlpAttributes = {};
  while (message.next() !== 0) addAttribute(message.message(), inner);
  return inner;
}
