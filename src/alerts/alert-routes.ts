import { z } from "zod";
import { json, noContent, type Route, route } from "../platform/http/route.ts";
import {
  alert,
  alertEvent,
  createRequest,
  madeAlert,
  patchRequest,
  toAlertWire,
  toEventWire,
} from "./alert-schemas.ts";
import type { AlertService, History, MadeRule } from "./alert-service.ts";

const tag = "Alerts";
const params = z.object({ alert_id: z.guid() });
const read = { kind: "workspace", role: "viewer", scope: ["read", "deploy"] } as const;
const write = { kind: "workspace", role: "editor", scope: "deploy" } as const;
const historyQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  offset: z.coerce.number().int().min(0).max(100_000).default(0),
});
const history = z.object({ resources: z.array(alertEvent) });
const target = { kind: "alert", id: "params.alert_id" } as const;

const toMadeWire = ({ rule, webhookSecret }: MadeRule) => ({
  ...toAlertWire(rule),
  webhook_secret: webhookSecret,
});

const toHistory = ({ events, deliveries }: History) => ({
  resources: events.map((event) => toEventWire(event, deliveries)),
});

/** Rules that notify people when runs fail, take long or stay away, or an export fails. */
export function alertRoutes(alerts: AlertService): Route[] {
  return [...readingRoutes(alerts), ...changingRoutes(alerts)];
}

function readingRoutes(alerts: AlertService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/alerts",
        operationId: "list_alerts",
        summary: "List alerts",
        tag,
        access: read,
        responses: {
          200: { description: "All of the workspace", schema: z.object({ resources: z.array(alert) }) },
        },
      },
      async ({ caller }) => json(200, { resources: (await alerts.list(caller)).map(toAlertWire) }),
    ),
    route(
      {
        method: "get",
        path: "/v2/alerts/history",
        operationId: "list_alert_events",
        summary: "List the history of all alerts, newest first",
        tag,
        access: read,
        query: historyQuery,
        responses: { 200: { description: "A page of state changes and tests", schema: history } },
      },
      async ({ caller, query }) =>
        json(200, toHistory(await alerts.history(caller, { ruleId: null, ...query }))),
    ),
    route(
      {
        method: "get",
        path: "/v2/alerts/{alert_id}",
        operationId: "get_alert",
        summary: "Get an alert",
        tag,
        access: read,
        params,
        responses: { 200: { description: "The alert", schema: alert } },
        errors: [404],
      },
      async ({ caller, params }) => json(200, toAlertWire(await alerts.get(caller, params.alert_id))),
    ),
    route(
      {
        method: "get",
        path: "/v2/alerts/{alert_id}/history",
        operationId: "list_events_of_alert",
        summary: "List the history of one alert, newest first",
        tag,
        access: read,
        params,
        query: historyQuery,
        responses: { 200: { description: "A page of state changes and tests", schema: history } },
        errors: [404],
      },
      async ({ caller, params, query }) =>
        json(200, toHistory(await alerts.history(caller, { ruleId: params.alert_id, ...query }))),
    ),
  ];
}

function changingRoutes(alerts: AlertService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/v2/alerts",
        operationId: "create_alert",
        summary: "Create an alert",
        description:
          "It is evaluated every minute. Each change of its state (firing, resolved) is sent once to the webhook and the addresses.",
        tag,
        access: write,
        audit: { action: "alert.created", target: { kind: "alert", id: "answer.id", name: "body.name" } },
        body: createRequest,
        responses: { 201: { description: "The alert", schema: madeAlert } },
        errors: [400, 404, 409],
      },
      async ({ caller, body }) => json(201, toMadeWire(await alerts.create(caller, body))),
    ),
    route(
      {
        method: "patch",
        path: "/v2/alerts/{alert_id}",
        operationId: "patch_alert",
        summary: "Change or mute an alert",
        tag,
        access: write,
        audit: { action: "alert.changed", target },
        params,
        body: patchRequest,
        responses: { 200: { description: "The alert", schema: madeAlert } },
        errors: [400, 404],
      },
      async ({ caller, params, body }) =>
        json(200, toMadeWire(await alerts.change(caller, params.alert_id, body))),
    ),
    route(
      {
        method: "delete",
        path: "/v2/alerts/{alert_id}",
        operationId: "delete_alert",
        summary: "Delete an alert and its history",
        tag,
        access: write,
        audit: { action: "alert.deleted", target },
        params,
        responses: { 204: { description: "Deleted" } },
        errors: [404],
      },
      async ({ caller, params }) => {
        await alerts.remove(caller, params.alert_id);
        return noContent();
      },
    ),
    route(
      {
        method: "post",
        path: "/v2/alerts/{alert_id}/test",
        operationId: "test_alert",
        summary: "Send a test to everybody an alert would notify",
        description: "Sends one test at once. The response has the outcome for each receiver.",
        tag,
        access: write,
        audit: { action: "alert.tested", target },
        params,
        responses: { 200: { description: "What was sent", schema: alertEvent } },
        errors: [404, 429],
      },
      async ({ caller, params, shutdown }) => {
        const sent = await alerts.test(caller, params.alert_id, shutdown);
        return json(200, toEventWire(sent.events[0]!, sent.deliveries));
      },
    ),
  ];
}
