import { type PayloadField, payloadFields } from "../runs/run-change.ts";
import { parseObjectPart, parsePart } from "../wire/json-text.ts";
import type { Part } from "../wire/multipart.ts";
import { RefusedPart } from "../wire/refused-part.ts";
import type { SentRun } from "./read-run.ts";

export type SentAttachment = { part: string; runId: string; name: string; mimeType: string; content: Buffer };
export type SentFeedback = { part: string; id: string; record: Record<string, unknown> };
/** `forbidden`: its sender may not write there. */
export type PartError = { part: string; error: string; forbidden?: true };

export type SentParts = {
  runs: { part: string; sent: SentRun }[];
  attachments: SentAttachment[];
  feedback: SentFeedback[];
  errors: PartError[];
};

/** Sorts the parts of one request into runs, attachments and feedback; names every part it refuses. */
export function readParts(parts: readonly Part[]): SentParts {
  const result: SentParts = { runs: [], attachments: [], feedback: [], errors: [] };
  const open = new Map<string, SentRun>();
  const refused = new Set<string>();
  // Main parts first: a field part may come before its run.
  const later: (() => void)[] = [];
  const attempt = (part: string, work: () => void) => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof RefusedPart)) throw error;
      result.errors.push({ part, error: error.message });
    }
  };
  for (const part of parts) {
    const [kind = "", id = "", ...rest] = part.name.split(".");
    const field = rest.join(".");
    if (kind === "post" || kind === "patch") {
      const key = `${kind}.${id}`;
      if (field === "") {
        attempt(part.name, () => {
          refused.add(key);
          const sent: SentRun = { kind, id, record: parseObjectPart(part.bytes), payloads: {} };
          refused.delete(key);
          open.set(key, sent);
          result.runs.push({ part: part.name, sent });
        });
      } else
        later.push(() => attempt(part.name, () => addField(open.get(key), refused.has(key), field, part)));
    } else if (kind === "attachment" && field !== "") {
      result.attachments.push({
        part: part.name,
        runId: id,
        name: field,
        mimeType: part.contentType.replace(/;\s*length=\d+/i, ""),
        content: part.bytes,
      });
    } else if (kind === "feedback" && field === "") {
      attempt(part.name, () => {
        result.feedback.push({ part: part.name, id, record: parseObjectPart(part.bytes) });
      });
    } else {
      const error =
        "Unknown part name. Parts are named post.<run id>, patch.<run id>, each with .inputs, .outputs, .events, .extra, .error or .serialized, attachment.<run id>.<name> and feedback.<id>.";
      result.errors.push({ part: part.name.slice(0, 200), error });
    }
  }
  for (const work of later) work();
  return result;
}

function addField(sent: SentRun | undefined, refusedRun: boolean, field: string, part: Part): void {
  if (!sent) {
    const reason = refusedRun
      ? "the run it belongs to was refused"
      : "the part of the run it belongs to is missing";
    throw new RefusedPart(`Not kept: ${reason}.`);
  }
  if (field === "error") sent.error = { value: parsePart(part.bytes) };
  else if ((payloadFields as readonly string[]).includes(field)) {
    sent.payloads[field as PayloadField] = { bytes: part.bytes, value: parsePart(part.bytes) };
  } else throw new RefusedPart(`"${field.slice(0, 80)}" is not a field that can be a separate part.`);
}
