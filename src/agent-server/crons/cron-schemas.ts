import { z } from "zod";
import { jsonObject } from "../../platform/http/json-object.ts";
import { runCreateBody } from "../runs/run-schemas.ts";
import { type Cron, cronSortFields } from "./cron.ts";
import { parseTime } from "./cron-schedule.ts";

const run = runCreateBody.shape;

const time = z.string().transform((text, context) => {
  const parsed = parseTime(text);
  if (parsed) return parsed;
  context.addIssue({
    code: "custom",
    message: "end_time must be an ISO time, for example 2030-01-31T12:00:00Z",
  });
  return z.NEVER;
});

const settings = {
  timezone: z.string().max(100).nullish().describe("IANA name; UTC when null."),
  end_time: time.nullish().describe("No firing after it. Without an offset it is UTC."),
  input: run.input,
  metadata: run.metadata,
  config: run.config,
  context: run.context,
  webhook: run.webhook,
  interrupt_before: run.interrupt_before,
  interrupt_after: run.interrupt_after,
  on_run_completed: z
    .enum(["delete", "keep"])
    .nullish()
    .describe("What happens to the thread that a firing created. It has no effect on a cron of a thread."),
  enabled: z.boolean().nullish(),
  stream_mode: run.stream_mode,
  stream_subgraphs: run.stream_subgraphs,
  stream_resumable: run.stream_resumable,
  durability: run.durability,
  checkpoint_during: run.checkpoint_during,
  multitask_strategy: run.multitask_strategy,
};

const schedule = z
  .string()
  .min(1)
  .max(512)
  .describe("Minute, hour, day of month, month, day of week; a sixth field is the second.");

export const cronCreateBody = z
  .looseObject({ ...settings, schedule, assistant_id: run.assistant_id })
  .meta({ id: "CronCreate" });

export const cronPatchBody = z
  .looseObject({ ...settings, schedule: schedule.nullish() })
  .meta({ id: "CronPatch" });

const filterFields = {
  assistant_id: z.string().min(1).nullish(),
  thread_id: z.uuid().nullish(),
  enabled: z.boolean().nullish(),
  metadata: jsonObject.nullish(),
};

export const cronCountBody = z.looseObject(filterFields).meta({ id: "CronCount" });

export const cronView = z
  .object({
    cron_id: z.uuid(),
    assistant_id: z.uuid(),
    thread_id: z.uuid().nullable(),
    on_run_completed: z.enum(["delete", "keep"]),
    schedule: z.string(),
    timezone: z.string().nullable(),
    end_time: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
    user_id: z.string().nullable(),
    payload: jsonObject,
    next_run_date: z.string().nullable(),
    metadata: jsonObject,
    enabled: z.boolean(),
  })
  .meta({ id: "Cron" });
export type CronView = z.output<typeof cronView>;

const selectable = ["now", ...Object.keys(cronView.shape)] as const;

export const cronSearchBody = z
  .looseObject({
    ...filterFields,
    limit: z.int().min(1).max(1000).default(10),
    offset: z.int().min(0).default(0),
    sort_by: z
      .enum(cronSortFields)
      .nullish()
      .transform((value) => value ?? "created_at"),
    sort_order: z
      .enum(["asc", "desc"])
      .nullish()
      .transform((value) => value ?? "desc"),
    select: z.array(z.enum(selectable)).nullish(),
  })
  .meta({ id: "CronSearch" });

export function toCronView(cron: Cron): CronView {
  return {
    cron_id: cron.cron_id,
    assistant_id: cron.assistant_id,
    thread_id: cron.thread_id,
    on_run_completed: cron.on_run_completed,
    schedule: cron.schedule,
    timezone: cron.timezone,
    end_time: cron.end_time?.toISOString() ?? null,
    created_at: cron.created_at.toISOString(),
    updated_at: cron.updated_at.toISOString(),
    user_id: cron.user_id,
    payload: cron.payload,
    next_run_date: cron.next_run_date?.toISOString() ?? null,
    metadata: cron.metadata,
    enabled: cron.enabled,
  };
}
