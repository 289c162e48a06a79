import { z } from "zod";
import { feedbackSummary } from "../runs/feedback-summary.ts";
import type { ProjectStats } from "../storage/run-stats.ts";
import type { Project } from "./project.ts";

const id = z.guid();
const number = z.number().nullish();

/** Clients write `true`, `True` or `1`. */
export const flag = z
  .string()
  .transform((text) => ["true", "1", "yes"].includes(text.toLowerCase()))
  .optional();
export const project = z
  .object({
    id,
    tenant_id: id,
    name: z.string(),
    description: z.string().nullable(),
    start_time: z.string(),
    end_time: z.string().nullable(),
    extra: z.record(z.string(), z.unknown()).nullable(),
    default_dataset_id: id.nullable(),
    reference_dataset_id: id.nullable(),
    trace_tier: z.string(),
    retention_days: z.int().nullable(),
    run_count: number,
    total_tokens: number,
    prompt_tokens: number,
    completion_tokens: number,
    total_cost: number,
    prompt_cost: number,
    completion_cost: number,
    latency_p50: number,
    latency_p99: number,
    first_token_p50: number,
    first_token_p99: number,
    error_rate: number,
    streaming_rate: number,
    last_run_start_time: z.string().nullish(),
    feedback_stats: feedbackSummary.nullish(),
  })
  .meta({ id: "TraceProject" });

export function toWire(found: Project, stats?: ProjectStats): z.input<typeof project> {
  const { workspace_id, ...rest } = found;
  return { ...rest, tenant_id: workspace_id, ...stats };
}
