import type { Feedback } from "../runs/feedback.ts";
import { RefusedPart } from "../wire/refused-part.ts";
import { storable, storableStart } from "../wire/storable-text.ts";
import { normalizeUuid } from "../wire/wire-id.ts";
import { readTime } from "../wire/wire-time.ts";

const maxKeyChars = 500;

/** Feedback as clients send it; `receivedAt` is UTC text. */
export function readFeedback(
  record: Record<string, unknown>,
  context: { workspaceId: string; id: string; receivedAt: string },
): Feedback {
  const { key } = record;
  if (typeof key !== "string" || key === "")
    throw new RefusedPart("key must be a string: the name of the feedback.");
  const runId = idIn(record, "run_id");
  const projectId = idIn(record, "session_id");
  if (record.agent_id !== undefined && record.agent_id !== null)
    throw new RefusedPart("agent_id is not supported here: send the project as session_id instead.");
  if (runId === null && projectId === null)
    throw new RefusedPart(
      "run_id (or session_id) is missing: send the run or project that the feedback is for.",
    );
  return {
    id: idIn(record, "id") ?? context.id,
    workspace_id: context.workspaceId,
    run_id: runId,
    trace_id: idIn(record, "trace_id"),
    project_id: projectId,
    key: storableStart(key, maxKeyChars),
    score: readScore(record.score),
    value: jsonText(record.value),
    comment: readComment(record.comment),
    correction: jsonText(record.correction),
    feedback_source: record.feedback_source ?? null,
    // The JavaScript client writes its name as it is written there.
    feedback_config: record.feedback_config ?? record.feedbackConfig ?? null,
    comparative_experiment_id: idIn(record, "comparative_experiment_id"),
    feedback_group_id: idIn(record, "feedback_group_id"),
    extra: extraOf(record),
    created_at: readTime(record.created_at) ?? context.receivedAt,
    modified_at: readTime(record.modified_at) ?? context.receivedAt,
  };
}

/** An evaluator that failed sends an error beside its key; it is kept in `extra`. */
function extraOf({ extra, error }: Record<string, unknown>): unknown {
  if (error !== true) return extra ?? null;
  return { ...(typeof extra === "object" ? extra : { extra }), error };
}

/** A yes or no counts as one or zero. */
export function readScore(score: unknown): number | null {
  if (score === undefined || score === null) return null;
  if (typeof score === "boolean") return score ? 1 : 0;
  if (typeof score === "number" && Number.isFinite(score)) return score;
  throw new RefusedPart("score must be a number, true or false.");
}

export function readComment(comment: unknown): string | null {
  if (comment === undefined || comment === null) return null;
  return storable(typeof comment === "string" ? comment : JSON.stringify(comment));
}

export function jsonText(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}

function idIn(record: Record<string, unknown>, field: string): string | null {
  const value = record[field];
  if (value === undefined || value === null) return null;
  const id = normalizeUuid(value);
  if (id === null) throw new RefusedPart(`${field} must be a UUID.`);
  return id;
}
