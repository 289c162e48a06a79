import { z } from "zod";
import type { Feedback } from "../runs/feedback.ts";

const id = z.guid();
const any = z.unknown().optional();
export const feedback = z
  .object({
    id,
    created_at: z.string(),
    modified_at: z.string(),
    key: z.string(),
    score: z.number().nullable(),
    value: any,
    comment: z.string().nullable(),
    correction: any,
    run_id: id.nullable(),
    trace_id: id.nullable(),
    session_id: id.nullable(),
    feedback_source: any,
    feedback_config: any,
    comparative_experiment_id: id.nullable(),
    feedback_group_id: id.nullable(),
    extra: any,
  })
  .meta({ id: "Feedback" });

export function toWire(found: Feedback): z.input<typeof feedback> {
  const { workspace_id: _workspace, project_id, value, correction, ...rest } = found;
  return { ...rest, session_id: project_id, value: parsed(value), correction: parsed(correction) };
}

function parsed(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}
