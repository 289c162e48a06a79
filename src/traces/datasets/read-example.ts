import { parseObjectPart, parsePart } from "../wire/json-text.ts";
import type { Part } from "../wire/multipart.ts";
import { RefusedPart } from "../wire/refused-part.ts";
import { storable, storableStart } from "../wire/storable-text.ts";
import { normalizeUuid } from "../wire/wire-id.ts";
import { readTime } from "../wire/wire-time.ts";
import type { KeptAttachments, NewExampleAttachment } from "./example-attachment-store.ts";
import type { NewExample } from "./example-store.ts";

/** What was sent for one example; a field that is not there was not sent. */
export type SentExample = {
  id: string;
  record: Record<string, unknown>;
  inputs?: unknown;
  outputs?: unknown;
  attachments?: NewExampleAttachment[];
  /** What becomes of the attachments it had. */
  kept?: KeptAttachments;
};

const maxAttachmentBytes = 20 * 1024 * 1024;

/** Examples as parts: `<id>`, `<id>.inputs`, `<id>.outputs`, `<id>.attachment.<name>`, `<id>.attachments_operations`. */
export function readExampleParts(parts: readonly Part[]): SentExample[] {
  const examples = new Map<string, SentExample>();
  for (const part of parts) {
    const [name = "", field = "", ...rest] = part.name.split(".");
    const id = normalizeUuid(name);
    if (id === null)
      throw new RefusedPart(`The part "${part.name.slice(0, 80)}" must begin with an example's id.`);
    const example = examples.get(id) ?? { id, record: {} };
    examples.set(id, example);
    if (field === "") example.record = parseObjectPart(part.bytes);
    else if (field === "inputs" || field === "outputs") example[field] = parsePart(part.bytes);
    else if (field === "attachments_operations") example.kept = readKept(parseObjectPart(part.bytes));
    else if (field === "attachment" && rest.length > 0)
      example.attachments = [...(example.attachments ?? []), readAttachment(id, rest.join("."), part)];
    else
      throw new RefusedPart(
        `The part "${part.name.slice(0, 80)}" is not known: examples have inputs, outputs and attachment.<name>.`,
      );
  }
  return [...examples.values()];
}

function readAttachment(exampleId: string, name: string, part: Part): NewExampleAttachment {
  if (part.bytes.byteLength > maxAttachmentBytes)
    throw new RefusedPart(`An attachment may have at most ${maxAttachmentBytes} bytes.`);
  const mimeType = storable(part.contentType.replace(/;\s*length=\d+/i, ""));
  return { exampleId, name: storableStart(name, 500), mimeType, content: part.bytes };
}

function readKept({ retain, rename }: Record<string, unknown>): KeptAttachments {
  const names = Array.isArray(retain) ? retain.filter((name) => typeof name === "string") : [];
  const renamed = typeof rename === "object" && rename !== null ? Object.entries(rename) : [];
  const texts = renamed.filter((pair): pair is [string, string] => typeof pair[1] === "string");
  return {
    retain: names.map(storable),
    rename: Object.fromEntries(texts.map(([a, b]) => [storable(a), storable(b)])),
  };
}

/** A dataset's split is kept in the metadata, where clients look for it. */
export function toNewExample(sent: SentExample): NewExample {
  const { record } = sent;
  return {
    id: sent.id,
    inputs: JSON.stringify(sent.inputs ?? record.inputs ?? {}),
    outputs: outputsText(sent.outputs ?? record.outputs),
    metadata: metadataOf(record),
    sourceRunId: normalizeUuid(record.source_run_id),
    fromSourceRun: readFromSourceRun(record),
    createdAt: readTime(record.created_at),
  };
}

/** What is taken over from the source run instead of being sent. */
function readFromSourceRun(record: Record<string, unknown>): NewExample["fromSourceRun"] {
  const { use_source_run_io: io, use_source_run_attachments: names } = record;
  const attachments = Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  if (io !== true && attachments.length === 0) return null;
  if (normalizeUuid(record.source_run_id) === null)
    throw new RefusedPart("use_source_run_io and use_source_run_attachments need a source_run_id.");
  return { io: io === true, attachments: attachments.map(storable) };
}

export function outputsText(outputs: unknown): string | null {
  return outputs === undefined || outputs === null ? null : JSON.stringify(outputs);
}

function metadataOf(record: Record<string, unknown>): Record<string, unknown> {
  const { metadata, split } = record;
  const own = typeof metadata === "object" && metadata !== null ? (metadata as Record<string, unknown>) : {};
  const splits =
    split === undefined || split === null
      ? (own.dataset_split ?? ["base"])
      : Array.isArray(split)
        ? split
        : [split];
  return { ...own, dataset_split: splits };
}
