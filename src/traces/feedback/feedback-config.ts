import { z } from "zod";
import { AppError } from "../../platform/errors.ts";

/** How the scores of a key are to be read. */
export const feedbackConfig = z
  .looseObject({
    type: z.enum(["continuous", "categorical", "freeform"]),
    min: z.number().nullish(),
    max: z.number().nullish(),
    categories: z
      .array(z.looseObject({ value: z.number(), label: z.string().max(500).nullish() }))
      .max(1_000)
      .nullish(),
  })
  .refine(({ min, max }) => min == null || max == null || min <= max, {
    path: ["max"],
    message: "max must not be below min",
  })
  .meta({ id: "FeedbackConfig" });

export const feedbackKey = z.string().min(1).max(500);

export type FeedbackConfig = {
  workspace_id: string;
  feedback_key: string;
  feedback_config: unknown;
  is_lower_score_better: boolean;
  modified_at: string;
};

export function configNotFound(key: string): AppError {
  return new AppError({
    code: "traces.feedback_config_not_found",
    kind: "not_found",
    message: `There is no feedback config for "${key.slice(0, 200)}". Create it with POST /api/v1/feedback-configs.`,
  });
}

export function configDiffers(key: string): AppError {
  return new AppError({
    code: "traces.feedback_config_exists",
    kind: "conflict",
    message: `A different feedback config for "${key.slice(0, 200)}" exists already. Change it with PATCH /api/v1/feedback-configs.`,
  });
}
