import { z } from "zod";
import type { Caller } from "../../platform/http/access/caller.ts";
import { type AuditAction, auditActions } from "../../platform/http/audit/audit-action.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { unprocessable } from "../../platform/http/validation/validation.ts";
import { id, time } from "../wire/fields.ts";
import { actorKinds, outcomes } from "./audit.ts";
import type { AuditQuery, AuditService } from "./audit-service.ts";
import type { ListedEvent } from "./audit-store.ts";

const action = z.enum(Object.keys(auditActions) as [AuditAction, ...AuditAction[]]);
const moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

const auditEvent = z
  .object({
    id,
    workspace_id: id.nullable().describe("Null: it belongs to no workspace, such as an unknown credential."),
    at: time,
    action,
    outcome: z.enum(outcomes),
    status: z.number().int().nullable().describe("Of the HTTP answer."),
    error_code: z.string().nullable(),
    actor: z.object({
      kind: z.enum(actorKinds),
      via: z.string().nullable().describe("How the actor was recognised."),
      user_id: id.nullable(),
      email: z.string().nullable(),
      api_key_id: id.nullable(),
      api_key_name: z.string().nullable(),
      session_id: id.nullable(),
    }),
    target: z.object({ kind: z.string(), id: z.string().nullable(), name: z.string().nullable() }).nullable(),
    address: z.string().nullable(),
    user_agent: z.string().nullable(),
    request_id: z.string().nullable(),
    details: z
      .record(z.string(), z.unknown())
      .describe("Short facts; `more` is the number of similar events that were counted but not stored."),
  })
  .meta({ id: "AuditEvent" });

const filters = z.object({
  action: action.optional(),
  outcome: z.enum(outcomes).optional(),
  user_id: id.optional().describe("Who did it."),
  api_key_id: id.optional().describe("With which key."),
  target_id: z.string().max(200).optional().describe("To what."),
  from: moment.optional().describe("Not before."),
  to: moment.optional().describe("Before."),
});
const listQuery = filters.extend({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(200).optional().describe("`next_cursor` of the previous page."),
});

const tag = "Audit log";
const access = { kind: "workspace", role: "admin", scope: "admin" } as const;
const exportPage = 500;

export function auditRoutes(service: AuditService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/v2/audit-events",
        operationId: "list_audit_events",
        summary: "Read the audit log",
        description:
          "Events of the request's workspace, newest first. The workspace that the server was started with also has the events that belong to none.",
        tag,
        access,
        query: listQuery,
        responses: {
          200: {
            description: "A page of events",
            schema: z.object({ resources: z.array(auditEvent), next_cursor: z.string().nullable() }),
          },
        },
      },
      async ({ caller, query }) => {
        const found = await service.list(caller, queryOf(query, query.limit, readCursor(query.cursor)));
        const last = found.length === query.limit ? found.at(-1) : undefined;
        return json(200, { resources: found.map(toWire), next_cursor: last ? cursorOf(last) : null });
      },
    ),
    route(
      {
        method: "get",
        path: "/v2/audit-events/export",
        operationId: "export_audit_events",
        summary: "Export the audit log as JSON lines",
        description: "One event per line, newest first. The export is recorded too.",
        tag,
        access,
        audit: {
          action: "audit_events.exported",
          details: { from: "query.from", to: "query.to", action: "query.action" },
        },
        query: filters,
        responses: { 200: { description: "The events", contentType: "application/x-ndjson" } },
      },
      ({ caller, query }) =>
        new Response(lines(service, caller, query), {
          headers: {
            "content-type": "application/x-ndjson",
            "content-disposition": 'attachment; filename="audit-events.jsonl"',
            "cache-control": "no-store",
          },
        }),
    ),
  ];
}

/** A page is read when the one before has been taken: a slow reader costs one page of memory. */
function lines(service: AuditService, caller: Caller, query: z.output<typeof filters>) {
  const encoder = new TextEncoder();
  let after: AuditQuery["after"];
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const found = await service.list(caller, queryOf(query, exportPage, after));
        if (found.length > 0) {
          const text = found.map((event) => `${JSON.stringify(toWire(event))}\n`).join("");
          controller.enqueue(encoder.encode(text));
        }
        const last = found.at(-1);
        if (!last || found.length < exportPage) return controller.close();
        after = { at: last.at, id: last.id };
      },
    },
    { highWaterMark: 0 },
  );
}

function queryOf(
  query: z.output<typeof filters>,
  limit: number,
  after: AuditQuery["after"] | undefined,
): AuditQuery {
  const { action, outcome, from, to } = query;
  return {
    action,
    outcome,
    from,
    to,
    userId: query.user_id,
    apiKeyId: query.api_key_id,
    targetId: query.target_id,
    limit,
    after,
  };
}

function cursorOf(event: ListedEvent): string {
  return Buffer.from(`${event.at.toISOString()}|${event.id}`).toString("base64url");
}

function readCursor(cursor: string | undefined): AuditQuery["after"] {
  if (cursor === undefined) return undefined;
  const [at, eventId] = Buffer.from(cursor, "base64url").toString().split("|");
  if (time.safeParse(at).success && id.safeParse(eventId).success) return { at: new Date(at!), id: eventId! };
  throw unprocessable([
    { loc: ["query", "cursor"], msg: "Must be the next_cursor of a page", type: "value_error" },
  ]);
}

function toWire(event: ListedEvent): z.input<typeof auditEvent> {
  return {
    id: event.id,
    workspace_id: event.workspace_id,
    at: event.at.toISOString(),
    action: event.action,
    outcome: event.outcome,
    status: event.status,
    error_code: event.error_code,
    actor: {
      kind: event.actor_kind,
      via: event.via,
      user_id: event.user_id,
      email: event.user_email,
      api_key_id: event.api_key_id,
      api_key_name: event.key_name,
      session_id: event.session_id,
    },
    target:
      event.target_kind === null
        ? null
        : { kind: event.target_kind, id: event.target_id, name: event.target_name },
    address: event.address,
    user_agent: event.user_agent,
    request_id: event.request_id,
    details: event.details,
  };
}
