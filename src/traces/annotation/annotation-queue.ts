import { z } from "zod";
import { AppError } from "../../platform/errors.ts";

export type AnnotationQueue = {
  id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  rubric_instructions: string | null;
  rubric_items: unknown;
  default_dataset: string | null;
  metadata: unknown;
  num_reviewers_per_item: number;
  enable_reservations: boolean;
  reservation_minutes: number;
  created_at: string;
  updated_at: string;
  total_runs: number;
};

export type AnnotationItem = {
  id: string;
  queue_id: string;
  item_type: "RUN" | "THREAD";
  run_id: string | null;
  project_id: string | null;
  thread_id: string | null;
  start_time: string | null;
  source_proposed_example_id: string | null;
  added_at: string;
  effective_added_at: string;
  last_reviewed_time: string | null;
  completed_by: string[];
  reserved_by: string[];
};

/** The state of an item for one reviewer: to be reviewed, waiting for others, or done. */
export const sections = ["needs_my_review", "needs_others_review", "archived"] as const;
export type Section = (typeof sections)[number] | "all";

/** The older routes call what is done "completed". */
export const sectionWord = z
  .enum([...sections, "completed"])
  .transform((word): Section => (word === "completed" ? "archived" : word));

const rubricItem = z.looseObject({
  feedback_key: z.string().min(1).max(500),
  description: z.string().nullish(),
  value_descriptions: z.record(z.string(), z.string()).nullish(),
  score_descriptions: z.record(z.string(), z.string()).nullish(),
  is_required: z.boolean().nullish(),
});

export const queueFields = {
  name: z.string().min(1).max(500),
  description: z.string().max(10_000).nullish(),
  rubric_instructions: z.string().max(100_000).nullish(),
  rubric_items: z.array(rubricItem).max(100).nullish(),
  default_dataset: z.guid().nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  num_reviewers_per_item: z.int().min(1).max(100).nullish(),
  enable_reservations: z.boolean().nullish(),
  reservation_minutes: z.int().min(1).max(10_080).nullish(),
  reviewer_access_mode: z.literal("any").nullish().describe("Reviewers are not assigned: any may review."),
};

export const queueView = z
  .object({
    id: z.guid(),
    tenant_id: z.guid(),
    name: z.string(),
    description: z.string().nullable(),
    queue_type: z.literal("single"),
    rubric_instructions: z.string().nullable(),
    rubric_items: z.unknown(),
    default_dataset: z.guid().nullable(),
    metadata: z.unknown(),
    num_reviewers_per_item: z.int(),
    enable_reservations: z.boolean(),
    reservation_minutes: z.int(),
    reviewer_access_mode: z.literal("any"),
    created_at: z.string(),
    updated_at: z.string(),
    total_runs: z.int(),
  })
  .meta({ id: "AnnotationQueue" });

export function queueToWire({ workspace_id, ...queue }: AnnotationQueue): z.input<typeof queueView> {
  return { ...queue, tenant_id: workspace_id, queue_type: "single", reviewer_access_mode: "any" };
}

export const itemView = z
  .object({
    id: z.guid(),
    queue_id: z.guid(),
    item_type: z.enum(["RUN", "THREAD"]),
    run_id: z.guid().nullable(),
    project_id: z.guid().nullable(),
    thread_id: z.string().nullable(),
    start_time: z.string().nullable(),
    source_proposed_example_id: z.guid().nullable(),
    added_at: z.string(),
    effective_added_at: z.string(),
    last_reviewed_time: z.string().nullable(),
    completed_by: z.array(z.string()),
    reserved_by: z.array(z.string()),
  })
  .meta({ id: "AnnotationItem" });

export function queueNotFound(id: string): AppError {
  return new AppError({
    code: "traces.annotation_queue_not_found",
    kind: "not_found",
    message: `Annotation queue ${id} not found. Check the id, and that the key belongs to its workspace.`,
  });
}

export function itemNotFound(id: string): AppError {
  return new AppError({
    code: "traces.annotation_item_not_found",
    kind: "not_found",
    message: `There is no item ${id} in this annotation queue.`,
  });
}
