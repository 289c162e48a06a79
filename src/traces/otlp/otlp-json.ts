import { RefusedPart } from "../wire/refused-part.ts";
import type { OtlpAttributes, OtlpSpan } from "./otlp-span.ts";

type Node = Record<string, unknown>;

/** The spans of an OTLP request in its JSON form. */
export function readOtlpJson(body: unknown): OtlpSpan[] {
  if (!isNode(body)) throw new RefusedPart("The body must be an object with resourceSpans.");
  return list(body.resourceSpans).flatMap((resourceSpans) => {
    const resource = attributes(
      isNode(resourceSpans.resource) ? resourceSpans.resource.attributes : undefined,
    );
    const scopes = list(resourceSpans.scopeSpans ?? resourceSpans.instrumentationLibrarySpans);
    return scopes.flatMap((scope) => list(scope.spans).map((span) => readSpan(span, resource)));
  });
}

function readSpan(span: Node, resource: OtlpAttributes): OtlpSpan {
  const status = isNode(span.status) ? span.status : {};
  return {
    traceId: text(span.traceId).toLowerCase(),
    spanId: text(span.spanId).toLowerCase(),
    parentSpanId: text(span.parentSpanId).toLowerCase(),
    name: text(span.name),
    startNanos: nanos(span.startTimeUnixNano),
    endNanos: nanos(span.endTimeUnixNano),
    attributes: attributes(span.attributes),
    events: list(span.events).map((event) => ({
      name: text(event.name),
      timeNanos: nanos(event.timeUnixNano),
      attributes: attributes(event.attributes),
    })),
    statusCode: statusCode(status.code),
    statusMessage: text(status.message),
    resource,
  };
}

function attributes(value: unknown): OtlpAttributes {
  return Object.fromEntries(list(value).map((pair) => [text(pair.key), anyValue(pair.value)]));
}

function anyValue(value: unknown): unknown {
  if (!isNode(value)) return null;
  if ("stringValue" in value) return text(value.stringValue);
  if ("boolValue" in value) return value.boolValue === true;
  if ("intValue" in value) return Number(value.intValue);
  if ("doubleValue" in value) return Number(value.doubleValue);
  if ("bytesValue" in value) return text(value.bytesValue);
  if (isNode(value.arrayValue)) return list(value.arrayValue.values).map(anyValue);
  if (isNode(value.kvlistValue)) return attributes(value.kvlistValue.values);
  return null;
}

function statusCode(code: unknown): number {
  if (typeof code === "string") return code === "STATUS_CODE_ERROR" ? 2 : code === "STATUS_CODE_OK" ? 1 : 0;
  return typeof code === "number" ? code : 0;
}

function nanos(value: unknown): bigint {
  if (typeof value === "string" && /^\d{1,20}$/.test(value)) return BigInt(value);
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? BigInt(Math.floor(value)) : 0n;
}

function list(value: unknown): Node[] {
  return Array.isArray(value) ? value.filter(isNode) : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
