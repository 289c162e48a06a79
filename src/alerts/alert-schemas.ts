import { z } from "zod";
import {
  type AlertDelivery,
  type AlertEvent,
  type AlertRule,
  alertEventKinds,
  alertKinds,
  alertScopes,
  alertStates,
  type Undelivered,
} from "./alert.ts";

const id = z.guid();
const time = z.iso.datetime();

const name = z
  .string()
  .trim()
  .min(1)
  .max(120)
  .regex(/^[^\p{Cc}]*$/u, "must not contain control characters");

const emails = z
  .array(z.email().max(254))
  .max(10)
  .transform((all) => [...new Set(all)])
  .describe("Who gets an e-mail at each change. The server's operator sets the mail server.");

const webhookUrl = z
  .string()
  .max(2_000)
  .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), "must be an http or https URL");

const given = {
  name,
  window_minutes: z.number().int().min(1).max(1_440).describe("How far back it looks: 1 minute to a day."),
  threshold: z
    .number()
    .positive()
    .max(1_000_000)
    .nullable()
    .describe(
      "error_rate: percent of the runs. latency_p95: seconds. export_failed: how many. no_traffic has none.",
    ),
  min_runs: z
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .describe("error_rate and latency_p95: with fewer runs in the window, the alert is not evaluated."),
  emails,
  webhook_url: webhookUrl
    .nullable()
    .describe(
      "Gets a signed POST at each change. Stored encrypted; only its host is shown. Null removes it.",
    ),
  webhook_secret: z
    .string()
    .min(16)
    .max(200)
    .describe("The secret that signs the requests (x-treadle-signature). Generated if left out."),
  enabled: z.boolean(),
};

export const createRequest = z.object({
  name,
  kind: z.enum(alertKinds),
  scope: z.enum(alertScopes).describe("A deployment, a tracing project, or the whole workspace."),
  scope_id: id.nullish().describe("Of the deployment or the project."),
  window_minutes: given.window_minutes.default(15),
  threshold: given.threshold.optional(),
  min_runs: given.min_runs.default(1),
  emails: emails.default([]),
  webhook_url: given.webhook_url.optional(),
  webhook_secret: given.webhook_secret.optional(),
  enabled: z.boolean().default(true),
});
export type NewAlert = z.output<typeof createRequest>;

export const patchRequest = z
  .object({
    ...given,
    muted_until: time
      .nullable()
      .describe("No notifications until then; the history continues. Null ends it."),
  })
  .partial();
export type AlertPatch = z.output<typeof patchRequest>;

export const alert = z
  .object({
    id,
    tenant_id: id,
    name: z.string(),
    kind: z.enum(alertKinds),
    scope: z.enum(alertScopes),
    scope_id: id.nullable(),
    window_minutes: z.number().int(),
    threshold: z.number().nullable(),
    min_runs: z.number().int(),
    emails: z.array(z.string()),
    webhook_host: z
      .string()
      .nullable()
      .describe("The host of the webhook; the rest of its URL is not shown."),
    enabled: z.boolean(),
    muted_until: time.nullable(),
    state: z.enum(alertStates),
    state_since: time,
    last_value: z.number().nullable().describe("What was measured last."),
    problem: z.string().nullable().describe("Why the last evaluation failed."),
    undelivered: z
      .array(
        z.object({
          channel: z.enum(["webhook", "email"]),
          target: z.string(),
          status: z.enum(["pending", "failed"]).describe("pending: it is still tried. failed: it is not."),
          error: z.string(),
          at: time.describe("When the notification was made."),
        }),
      )
      .describe("The receivers that the newest notification or test did not reach, each with the reason."),
    evaluated_at: time.nullable(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: "Alert" });

export const madeAlert = alert
  .extend({
    webhook_secret: z
      .string()
      .nullable()
      .describe(
        "The secret that signs requests to the webhook. Shown once, when it is created; otherwise null.",
      ),
  })
  .meta({ id: "MadeAlert" });

export const alertEvent = z
  .object({
    id,
    alert_id: id,
    kind: z.enum(alertEventKinds),
    value: z.number().nullable(),
    message: z.string(),
    muted: z.boolean(),
    at: time,
    deliveries: z.array(
      z.object({
        channel: z.enum(["webhook", "email"]),
        target: z.string(),
        status: z.enum(["pending", "sent", "failed"]),
        attempts: z.number().int(),
        error: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: "AlertEvent" });

export type AlertView = AlertRule & { undelivered: readonly Undelivered[] };

export function toAlertWire(rule: AlertView): z.input<typeof alert> {
  return {
    id: rule.id,
    tenant_id: rule.workspace_id,
    name: rule.name,
    kind: rule.kind,
    scope: rule.scope,
    scope_id: rule.scope_id,
    window_minutes: rule.window_minutes,
    threshold: rule.threshold,
    min_runs: rule.min_runs,
    emails: rule.emails,
    webhook_host: rule.webhook_host,
    enabled: rule.enabled,
    muted_until: rule.muted_until?.toISOString() ?? null,
    state: rule.state,
    state_since: rule.state_since.toISOString(),
    last_value: rule.last_value,
    problem: rule.problem,
    undelivered: rule.undelivered.map(({ channel, target, status, error, at }) => ({
      ...{ channel, target, status, error, at: at.toISOString() },
    })),
    evaluated_at: rule.evaluated_at?.toISOString() ?? null,
    created_at: rule.created_at.toISOString(),
    updated_at: rule.updated_at.toISOString(),
  };
}

export function toEventWire(
  event: AlertEvent,
  deliveries: readonly AlertDelivery[],
): z.input<typeof alertEvent> {
  return {
    id: event.id,
    alert_id: event.rule_id,
    kind: event.kind,
    value: event.value,
    message: event.message,
    muted: event.muted,
    at: event.at.toISOString(),
    deliveries: deliveries
      .filter(({ event_id }) => event_id === event.id)
      .map(({ channel, target, status, attempts, error }) => ({ channel, target, status, attempts, error })),
  };
}
