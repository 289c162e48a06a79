import { z } from "zod";
import { AppError } from "../../platform/errors.ts";
import { readTime } from "../wire/wire-time.ts";
import { feedbackConfig, feedbackKey } from "./feedback-config.ts";

/** A link with which feedback of one key may be given on one run, without a key, until it ends. */
export type FeedbackToken = {
  id: string;
  workspace_id: string;
  run_id: string;
  feedback_key: string;
  feedback_id: string;
  feedback_config: unknown;
  expires_at: string;
};

const hourMs = 3_600_000;
export const defaultLifeMs = 3 * hourMs;
export const maxLifeMs = 366 * 24 * hourMs;

const part = z.number().min(0).max(1_000_000).nullish();

export const newFeedbackToken = z
  .looseObject({
    id: z.guid().nullish().describe("The id of the feedback."),
    run_id: z.guid(),
    feedback_key: feedbackKey,
    feedback_config: feedbackConfig.nullish(),
    expires_in: z
      .looseObject({ days: part, hours: part, minutes: part })
      .nullish()
      .describe("Default: 3 hours."),
    expires_at: z.string().nullish(),
  })
  .meta({ id: "NewFeedbackToken" });

type Expiry = Pick<z.output<typeof newFeedbackToken>, "expires_in" | "expires_at">;

/** When a link ends; null when that is in the past, too far off, or no time at all. */
export function endOf({ expires_in, expires_at }: Expiry, now: Date): Date | null {
  const end = expires_at ? Date.parse(readTime(expires_at) ?? "") : now.getTime() + lifeMs(expires_in);
  const left = end - now.getTime();
  return left > 0 && left <= maxLifeMs ? new Date(end) : null;
}

function lifeMs(life: Expiry["expires_in"]): number {
  if (!life) return defaultLifeMs;
  return (((life.days ?? 0) * 24 + (life.hours ?? 0)) * 60 + (life.minutes ?? 0)) * 60_000;
}

/** The same for a link that never existed and one that has expired, so that callers cannot tell them apart. */
export function tokenNotFound(): AppError {
  return new AppError({
    code: "traces.feedback_token_not_found",
    kind: "not_found",
    message: "This feedback link is unknown or has expired. Ask for a new one.",
  });
}
