import { isJsonTooDeep } from "../../platform/json-depth.ts";
import type { SentRun } from "../ingest/read-run.ts";
import { dottedSegment } from "../runs/dotted-order.ts";
import { RefusedPart } from "../wire/refused-part.ts";
import { normalizeUuid } from "../wire/wire-id.ts";
import { timeOfMicros } from "../wire/wire-time.ts";
import { inputsOf, invocationOf, modelOf, outputsOf, runTypeOf, usageOf } from "./genai-attributes.ts";
import { isObject } from "./genai-messages.ts";
import type { OtlpAttributes, OtlpSpan } from "./otlp-span.ts";
import { vercelMetadata, vercelName, vercelTags } from "./vercel-attributes.ts";

/** Attributes that become fields of the run; all others are its metadata. */
const consumed =
  /^(langsmith\.(?!metadata\.)|openinference\.span\.kind|input\.|output\.|llm\.(input_messages|output_messages|token_count|invocation)|gen_ai\.(prompt|completion|input\.messages|output\.messages|usage)|traceloop\.entity\.(input|output)|tool_arguments|tool_response|metadata$|tag\.tags|request_data$|pydantic_ai\.all_messages|final_result$|logfire\.(msg|json_schema|span_type|tags|metrics)|ai\.(prompt|response\.(text|toolCalls|object|reasoning)|toolCall\.(args|result)|usage|embeddings?$|values?$|telemetry\.metadata\.tags$))/;

/** Where the spans of one request stand: a root's run has the id of its trace. */
export type SpanTree = { runIds: Map<string, string>; byKey: Map<string, OtlpSpan> };

export function spanTree(spans: readonly OtlpSpan[]): SpanTree {
  const byKey = new Map(spans.map((span) => [keyOf(span.traceId, span.spanId), span]));
  const runIds = new Map(spans.map((span) => [keyOf(span.traceId, span.spanId), runIdOf(span)]));
  return { runIds, byKey };
}

const keyOf = (traceId: string, spanId: string) => `${traceId}/${spanId}`;

export function traceIdOf(span: OtlpSpan): string {
  return idAttribute(span, "langsmith.trace.id") ?? paddedUuid(span.traceId, "trace id");
}

function runIdOf(span: OtlpSpan): string {
  const stated = idAttribute(span, "langsmith.span.id");
  if (stated) return stated;
  return span.parentSpanId === "" ? traceIdOf(span) : spanUuid(span.spanId);
}

/** Ids shorter than a uuid are padded with zeros on the left. */
export function spanUuid(spanId: string): string {
  return paddedUuid(spanId, "span id");
}

function paddedUuid(hex: string, what: string): string {
  const id = /^[0-9a-f]{1,32}$/.test(hex) && !/^0*$/.test(hex) ? normalizeUuid(hex.padStart(32, "0")) : null;
  if (id === null)
    throw new RefusedPart(`The ${what} of a span must be hexadecimal digits, not all of them zero.`);
  return id;
}

/** A span as a run. `parentIds` finds the run of a parent that came in an earlier request. */
export function spanToRun(
  span: OtlpSpan,
  tree: SpanTree,
  parentIds: (traceId: string, parentSpanId: string) => string | undefined,
): SentRun & { traceId: string } {
  const id = runIdOf(span);
  const traceId = traceIdOf(span);
  const parentId =
    parentOf(span, tree) ??
    (parentSpanOf(span) === ""
      ? null
      : (parentIds(traceId, parentSpanOf(span)) ?? spanUuid(parentSpanOf(span))));
  const order =
    (span.attributes["langsmith.span.dotted_order"] as string | undefined) ?? dottedOrderOf(span, tree);
  const start = timeOf(span.startNanos);
  if (start === null) throw new RefusedPart(`The span ${span.spanId} has no start time.`);
  const { attributes } = span;
  const name = nameOf(span);
  const usage = usageOf(attributes);
  const outputs = { ...outputsOf(span), ...(usage && { usage_metadata: usage }) };
  const end = timeOf(span.endNanos);
  const error = errorOf(span);
  const record: Record<string, unknown> = {
    id,
    trace_id: traceId,
    name,
    run_type: runTypeOf(attributes),
    start_time: start,
    ...(end !== null && { end_time: end }),
    ...(parentId !== null && { parent_run_id: parentId }),
    ...(order !== undefined && { dotted_order: order }),
    ...(typeof attributes["langsmith.trace.session_name"] === "string" && {
      session_name: attributes["langsmith.trace.session_name"],
    }),
    ...(typeof attributes["langsmith.trace.session_id"] === "string" && {
      session_id: attributes["langsmith.trace.session_id"],
    }),
    ...(typeof attributes["langsmith.reference_example_id"] === "string" && {
      reference_example_id: attributes["langsmith.reference_example_id"],
    }),
    ...(error !== null && { error }),
    tags: tagsOf(attributes),
    inputs: inputsOf(span),
    outputs,
    extra: {
      metadata: metadataOf(span),
      invocation_params: invocationOf(attributes),
      runtime: span.resource,
    },
    ...(span.events.length > 0 && { events: span.events.map(eventOf) }),
  };
  return { kind: "post", record, payloads: {}, traceId };
}

/** Logfire's span has a template for its name, and the name with its values in an attribute. */
function nameOf({ attributes, name }: OtlpSpan): string {
  const isTemplate = attributes["logfire.msg_template"] !== undefined;
  const names = [
    attributes["langsmith.trace.name"],
    vercelName(attributes),
    isTemplate ? attributes["logfire.msg"] : undefined,
    name,
  ];
  return names.find((each): each is string => typeof each === "string" && each !== "") ?? "span";
}

function parentOf(span: OtlpSpan, tree: SpanTree): string | undefined {
  const stated = idAttribute(span, "langsmith.span.parent_id");
  if (stated !== undefined && !paddedSpanId.test(stated)) return stated;
  return tree.runIds.get(keyOf(span.traceId, parentSpanOf(span)));
}

/** The JavaScript client states its parent as a span id padded to a uuid; the run of a root has another id. */
const paddedSpanId = /^00000000-0000-0000-([0-9a-f]{4})-([0-9a-f]{12})$/;

function parentSpanOf(span: OtlpSpan): string {
  const stated = paddedSpanId.exec(idAttribute(span, "langsmith.span.parent_id") ?? "");
  return stated ? `${stated[1]}${stated[2]}` : span.parentSpanId;
}

/** Only when the whole way to the root came in the same request. */
function dottedOrderOf(span: OtlpSpan, tree: SpanTree): string | undefined {
  const segments: string[] = [];
  const seen = new Set<string>();
  for (let current: OtlpSpan | undefined = span; ; ) {
    const time = timeOf(current.startNanos);
    if (time === null || seen.has(current.spanId)) return undefined;
    seen.add(current.spanId);
    segments.unshift(dottedSegment(time, runIdOf(current)));
    if (parentSpanOf(current) === "") return segments.join(".");
    current = tree.byKey.get(keyOf(current.traceId, parentSpanOf(current)));
    if (!current) return undefined;
  }
}

function metadataOf(span: OtlpSpan): Record<string, unknown> {
  const { attributes } = span;
  const metadata: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("langsmith.metadata.")) metadata[name.slice("langsmith.metadata.".length)] = value;
    else if (!consumed.test(name)) metadata[vercelMetadata(name) ?? name] = value;
  }
  const stated = attributes.metadata;
  if (typeof stated === "string") {
    try {
      const parsed: unknown = isJsonTooDeep(stated) ? stated : JSON.parse(stated);
      if (isObject(parsed)) Object.assign(metadata, parsed);
      else if (parsed === stated) metadata.metadata = stated;
    } catch {
      metadata.metadata = stated;
    }
  }
  const conversation =
    attributes["session.id"] ?? attributes["gen_ai.conversation.id"] ?? attributes["langsmith.trace.session"];
  if (typeof conversation === "string") metadata.session_id ??= conversation;
  return { ...modelOf(attributes), ...metadata, OTEL_TRACE_ID: span.traceId, OTEL_SPAN_ID: span.spanId };
}

function tagsOf(attributes: OtlpAttributes): string[] {
  const stated =
    attributes["langsmith.span.tags"] ??
    attributes["tag.tags"] ??
    attributes[vercelTags] ??
    attributes["logfire.tags"];
  if (Array.isArray(stated)) return stated.map(String);
  return typeof stated === "string"
    ? stated
        .split(",")
        .map((tag) => tag.trim())
        .filter((tag) => tag !== "")
    : [];
}

function errorOf(span: OtlpSpan): string | null {
  const exception = span.events.find((event) => event.name === "exception")?.attributes;
  if (span.statusCode !== 2) return null;
  const message = exception?.["exception.message"] ?? (span.statusMessage || "The span ended with an error.");
  const stack = exception?.["exception.stacktrace"];
  return typeof stack === "string" ? `${message}\n\n${stack}` : String(message);
}

function eventOf(event: OtlpSpan["events"][number]): Record<string, unknown> {
  return { name: event.name, time: timeOf(event.timeNanos), kwargs: event.attributes };
}

function timeOf(nanos: bigint): string | null {
  return nanos === 0n ? null : timeOfMicros(Number(nanos / 1_000n));
}

function idAttribute(span: OtlpSpan, name: string): string | undefined {
  const value = span.attributes[name];
  return normalizeUuid(value) ?? undefined;
}
