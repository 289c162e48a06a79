import { z } from "zod";
import type { Caller } from "../../platform/http/access/caller.ts";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import { wireTime } from "../exact-time.ts";
import type { Destination } from "./destination.ts";
import { createDestinationBody, destinationBody, rotateCredentialsBody } from "./destination-schemas.ts";
import type { DestinationService } from "./destination-service.ts";

const tag = "Bulk exports";
const params = z.object({ destination_id: z.guid() });
const one = { description: "The destination", schema: destinationBody };
const viewer = { kind: "workspace", role: "viewer", scope: ["read", "export"] } as const;
const admin = { kind: "workspace", role: "admin", scope: "export" } as const;

export function destinationRoutes(
  service: DestinationService,
  options: { requirePlan(caller: Caller): Promise<void> },
): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/v1/bulk-exports/destinations",
        operationId: "list_bulk_export_destinations",
        summary: "List the destinations of the workspace",
        tag,
        access: viewer,
        responses: {
          200: { description: "The destinations, oldest first", schema: z.array(destinationBody) },
        },
      },
      async ({ caller }) => json(200, (await service.list(caller.workspaceId)).map(toWire)),
    ),
    route(
      {
        method: "post",
        path: "/api/v1/bulk-exports/destinations",
        operationId: "create_bulk_export_destination",
        summary: "Create a destination",
        description:
          "Writes a small object into a `tmp` folder under the prefix and removes it again. When that fails, nothing is stored and the answer says why.",
        tag,
        access: admin,
        audit: {
          action: "export_destination.created",
          target: { kind: "export_destination", id: "answer.id", name: "body.display_name" },
        },
        body: createDestinationBody,
        idempotent: true,
        responses: { 200: one },
        errors: [400],
      },
      async ({ caller, body }) => {
        await options.requirePlan(caller);
        return json(200, toWire(await service.create(caller.workspaceId, body)));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/bulk-exports/destinations/{destination_id}",
        operationId: "get_bulk_export_destination",
        summary: "Read a destination",
        tag,
        access: viewer,
        params,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, toWire(await service.get(caller.workspaceId, params.destination_id))),
    ),
    route(
      {
        method: "patch",
        path: "/api/v1/bulk-exports/destinations/{destination_id}",
        operationId: "update_bulk_export_destination",
        summary: "Replace the credentials of a destination",
        description:
          "The new ones are tried out first. Partitions that begin afterwards use them; those under way keep the old ones to their end.",
        tag,
        access: admin,
        audit: {
          action: "export_destination.changed",
          target: { kind: "export_destination", id: "params.destination_id" },
        },
        params,
        body: rotateCredentialsBody,
        responses: { 200: one },
        errors: [400, 404],
      },
      async ({ caller, params, body }) =>
        json(200, toWire(await service.rotate(caller.workspaceId, params.destination_id, body.credentials))),
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/bulk-exports/destinations/{destination_id}",
        operationId: "delete_bulk_export_destination",
        summary: "Delete a destination",
        description: "Refused while any export names it.",
        tag,
        access: admin,
        audit: {
          action: "export_destination.deleted",
          target: { kind: "export_destination", id: "params.destination_id" },
        },
        params,
        responses: { 204: { description: "Deleted" } },
        errors: [404, 409],
      },
      async ({ caller, params }) => {
        await service.remove(caller.workspaceId, params.destination_id);
        return noContent();
      },
    ),
  ];
}

function toWire(found: Destination): z.input<typeof destinationBody> {
  return {
    id: found.id,
    tenant_id: found.workspace_id,
    destination_type: found.destination_type,
    display_name: found.display_name,
    config: found.config,
    credentials_keys: found.credentials_keys,
    created_at: wireTime(found.created_at),
    updated_at: wireTime(found.updated_at),
  };
}
