import { parseDottedOrder } from "../runs/dotted-order.ts";
import {
  type PayloadField,
  payloadFields,
  type RunChange,
  type RunFacts,
  type RunFields,
} from "../runs/run-change.ts";
import { addTerms, tagTerm } from "../runs/term.ts";
import { objectAt, readModel, readUsage } from "../usage/usage.ts";
import { readMetadata, threadOf } from "../wire/metadata.ts";
import { RefusedPart } from "../wire/refused-part.ts";
import { storable, storableStart } from "../wire/storable-text.ts";
import { normalizeUuid } from "../wire/wire-id.ts";
import { readTime } from "../wire/wire-time.ts";

/** What a client sent for one run: the main object, and payloads that came on their own. */
export type SentRun = {
  kind: "post" | "patch";
  /** From the part's name or the path; the main object may repeat it. */
  id?: string;
  record: Record<string, unknown>;
  payloads: Partial<Record<PayloadField, { bytes: Buffer; value: unknown }>>;
  /** Came on its own; a value that is no text was sent as such. */
  error?: { value: unknown };
};

/** Everything but the project, which needs a look-up. */
export function readRun(sent: SentRun, context: { workspaceId: string; receivedAt: string }): RunChange {
  const { record } = sent;
  const id = readId(sent);
  const fields = readFields(id, sent);
  const payloads: RunChange["payloads"] = {};
  const values: Partial<Record<PayloadField, unknown>> = {};
  let bytes = 600;
  for (const field of payloadFields) {
    const alone = sent.payloads[field];
    const value = alone ? alone.value : record[field];
    if (value === undefined) continue;
    values[field] = value;
    const content = value === null ? null : (alone?.bytes ?? Buffer.from(JSON.stringify(value)));
    payloads[field] = content;
    bytes += content?.byteLength ?? 4;
  }
  return {
    kind: sent.kind,
    workspaceId: context.workspaceId,
    id,
    projectId: undefined,
    receivedAt: context.receivedAt,
    fields,
    payloads,
    facts: readFacts(fields, values),
    bytes: bytes + (fields.error?.length ?? 0),
  };
}

function readId(sent: SentRun): string {
  const named = sent.id === undefined ? undefined : normalizeUuid(sent.id);
  if (named === null) throw new RefusedPart(`"${cut(sent.id!)}" is not a run id; it must be a UUID.`);
  const own = sent.record.id === undefined ? undefined : normalizeUuid(sent.record.id);
  if (own === null) throw new RefusedPart("The run's id must be a UUID.");
  if (named && own && named !== own)
    throw new RefusedPart("The run's id differs from the id it was sent under.");
  const id = own ?? named;
  if (!id) throw new RefusedPart("The run has no id.");
  return id;
}

function readFields(id: string, sent: SentRun): RunFields {
  const { record } = sent;
  const fields: RunFields = {};
  if (isSet(record.dotted_order)) {
    const order = typeof record.dotted_order === "string" ? parseDottedOrder(record.dotted_order) : null;
    if (!order) throw new RefusedPart("dotted_order must be segments of time and run id, joined by dots.");
    if (order.segments.at(-1)!.id !== id)
      throw new RefusedPart("dotted_order must end with the run's own id.");
    fields.dotted_order = order.text;
    fields.path = order.segments;
  }
  const traceId = optionalId(record, "trace_id");
  if (traceId) fields.trace_id = traceId;
  const first = fields.path?.[0]?.id;
  if (first && traceId && first !== traceId)
    throw new RefusedPart("dotted_order must begin with the trace_id.");
  const parent = optionalId(record, "parent_run_id");
  const above = fields.path?.at(-2)?.id;
  if (fields.path && parent && parent !== above) {
    throw new RefusedPart("parent_run_id must be the second to last id of dotted_order.");
  }
  if (fields.path) fields.parent_run_id = above ?? null;
  else if (parent !== undefined) fields.parent_run_id = parent;
  const example = optionalId(record, "reference_example_id");
  if (example !== undefined) fields.reference_example_id = example;
  for (const field of ["name", "run_type", "trace_tier"] as const) {
    const value = record[field];
    if (!isSet(value)) continue;
    if (typeof value !== "string") throw new RefusedPart(`${field} must be text.`);
    fields[field] = storableStart(value, maxChars[field]);
  }
  const start = optionalTime(record, "start_time");
  if (start) fields.start_time = start;
  const end = optionalTime(record, "end_time");
  if (end !== undefined) fields.end_time = end;
  const error = sent.error ? sent.error.value : record.error;
  if (error !== undefined) fields.error = readError(error);
  const tags = readTags(record.tags);
  if (tags) fields.tags = tags;
  if (Number.isInteger(record.execution_order)) {
    fields.execution_order = Math.min(Math.max(1, record.execution_order as number), 2_147_483_647);
  }
  return fields;
}

/** Both stand in an index, whose entries hold 2,700 bytes at most. */
const maxChars = { name: 500, run_type: 100, trace_tier: 100 };

function readError(error: unknown): string | null {
  if (error === null) return null;
  return storable(typeof error === "string" ? error : JSON.stringify(error));
}

function readTags(tags: unknown): string[] | undefined {
  if (!isSet(tags)) return undefined;
  if (!Array.isArray(tags)) throw new RefusedPart("tags must be a list of texts.");
  return [
    ...new Set(
      tags.map((tag) => storableStart(typeof tag === "string" ? tag : (JSON.stringify(tag) ?? ""), 500)),
    ),
  ];
}

function readFacts(fields: RunFields, values: Partial<Record<PayloadField, unknown>>): RunFacts {
  const facts: RunFacts = { terms: [] };
  const terms = new Set<number>();
  addTerms("inputs", values.inputs, terms);
  addTerms("outputs", values.outputs, terms);
  for (const tag of fields.tags ?? []) terms.add(tagTerm(tag));
  if (values.extra !== undefined) {
    const metadata = objectAt(values.extra, "metadata") ?? {};
    addTerms("metadata", metadata, terms);
    facts.metadata = readMetadata(metadata);
    facts.threadId = threadOf(metadata);
    const model = readModel(values.extra);
    if (model) facts.model = model;
  }
  const usage = readUsage({ runType: fields.run_type, outputs: values.outputs, extra: values.extra });
  if (usage) facts.usage = usage;
  const firstToken = firstTokenTime(values.events);
  if (firstToken) facts.firstTokenTime = firstToken;
  facts.terms = [...terms];
  return facts;
}

function firstTokenTime(events: unknown): string | undefined {
  if (!Array.isArray(events)) return undefined;
  const event = events.find((each) => objectName(each) === "new_token") as { time?: unknown } | undefined;
  return readTime(event?.time) ?? undefined;
}

function objectName(value: unknown): unknown {
  return typeof value === "object" && value !== null ? (value as { name?: unknown }).name : undefined;
}

function optionalId(record: Record<string, unknown>, field: string): string | null | undefined {
  const value = record[field];
  if (value === undefined || value === null) return value as null | undefined;
  const id = normalizeUuid(value);
  if (id === null) throw new RefusedPart(`${field} must be a UUID.`);
  return id;
}

function optionalTime(record: Record<string, unknown>, field: string): string | null | undefined {
  const value = record[field];
  if (value === undefined || value === null) return value as null | undefined;
  const time = readTime(value);
  if (time === null)
    throw new RefusedPart(`${field} must be an ISO 8601 time, or a number of milliseconds since 1970.`);
  return time;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function cut(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
