import { z } from "zod";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import type { TokenEventService, Webhook } from "./token-event-service.ts";
import { tokenEventView, toTokenEventView } from "./token-schemas.ts";

const tag = "Auth Service (v2)";
const reads = { kind: "workspace", role: "viewer", scope: "accounts" } as const;
const administers = { kind: "workspace", role: "admin", scope: "admin" } as const;

const webhookView = z
  .object({ url: z.string(), created_at: z.iso.datetime(), updated_at: z.iso.datetime() })
  .meta({ id: "TokenEventWebhook" });
const savedWebhookView = webhookView.extend({
  secret: z
    .string()
    .describe("Signs the requests (HMAC-SHA256, header x-treadle-signature). Shown this once."),
});
const webhookUrl = z
  .string()
  .max(2000)
  .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), "must be an absolute http(s) URL");

export function tokenEventRoutes(service: TokenEventService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/auth/token-events",
        operationId: "list_token_events",
        summary: "List the events of the caller's OAuth tokens",
        description: "Newest first, kept for 90 days. `disconnected` means that a new consent is needed.",
        tag,
        access: reads,
        query: z.object({
          provider_id: z.string().min(1).max(200).optional(),
          limit: z.coerce.number().int().min(1).max(200).default(50),
        }),
        responses: { 200: { description: "The events", schema: z.array(tokenEventView) } },
      },
      async ({ caller, query }) => {
        const events = await service.list(caller, { providerId: query.provider_id, limit: query.limit });
        return json(200, events.map(toTokenEventView));
      },
    ),
    route(
      {
        method: "post",
        path: "/v2/auth/token-events/{event_id}/acknowledge",
        operationId: "acknowledge_token_event",
        summary: "Mark a token event as seen",
        tag,
        access: reads,
        params: z.object({ event_id: z.guid() }),
        responses: { 200: { description: "The event", schema: tokenEventView } },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, toTokenEventView(await service.acknowledge(caller, params.event_id))),
    ),
    route(
      {
        method: "get",
        path: "/v2/auth/webhook",
        operationId: "get_token_event_webhook",
        summary: "Where token events of the workspace are sent",
        tag,
        access: administers,
        responses: { 200: { description: "The webhook", schema: webhookView } },
        errors: [404],
      },
      async ({ caller }) => json(200, toView(await service.webhook(caller))),
    ),
    route(
      {
        method: "put",
        path: "/v2/auth/webhook",
        operationId: "set_token_event_webhook",
        summary: "Send token events of the workspace to a URL",
        description: "Every call creates a new secret.",
        tag,
        access: administers,
        audit: { action: "token_webhook.changed" },
        body: z.object({ url: webhookUrl }),
        responses: { 200: { description: "The webhook with its secret", schema: savedWebhookView } },
        errors: [400],
      },
      async ({ caller, body }) => {
        const saved = await service.saveWebhook(caller, body.url);
        return json(200, { ...toView(saved), secret: saved.secret });
      },
    ),
    route(
      {
        method: "delete",
        path: "/v2/auth/webhook",
        operationId: "delete_token_event_webhook",
        summary: "Send token events nowhere",
        tag,
        access: administers,
        audit: { action: "token_webhook.deleted" },
        responses: { 204: { description: "Deleted" } },
        errors: [404],
      },
      async ({ caller }) => {
        await service.removeWebhook(caller);
        return noContent();
      },
    ),
  ];
}

function toView(webhook: Webhook): z.input<typeof webhookView> {
  return {
    url: webhook.url,
    created_at: webhook.created_at.toISOString(),
    updated_at: webhook.updated_at.toISOString(),
  };
}
