import { z } from "zod";
import type { Caller } from "../../platform/http/access/caller.ts";
import { json, noContent, type Route, route } from "../../platform/http/route.ts";
import {
  createDestinationBody,
  destinationBody,
  rotateCredentialsBody,
  toDestinationBody,
} from "./destination-schemas.ts";
import type { DestinationService } from "./destination-service.ts";

const tag = "Bulk exports";
const params = z.object({ destination_id: z.guid() });
const one = { description: "The destination", schema: destinationBody };
const admin = { kind: "workspace", role: "admin", scope: "export" } as const;

export function destinationChangeRoutes(
  service: DestinationService,
  options: { requirePlan(caller: Caller): Promise<void> },
): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/v1/bulk-exports/destinations",
        operationId: "create_bulk_export_destination",
        summary: "Create a destination",
        description:
          "Writes a small object into a `tmp` folder under the prefix and removes it again. If that fails, nothing is stored and the response says why.",
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
        return json(200, toDestinationBody(await service.create(caller.workspaceId, body)));
      },
    ),
    route(
      {
        method: "patch",
        path: "/api/v1/bulk-exports/destinations/{destination_id}",
        operationId: "update_bulk_export_destination",
        summary: "Replace the credentials of a destination",
        description:
          "The new credentials are tested first. Partitions that start afterwards use them; running partitions keep the old ones.",
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
        json(
          200,
          toDestinationBody(
            await service.rotate(caller.workspaceId, params.destination_id, body.credentials),
          ),
        ),
    ),
    route(
      {
        method: "delete",
        path: "/api/v1/bulk-exports/destinations/{destination_id}",
        operationId: "delete_bulk_export_destination",
        summary: "Delete a destination",
        description: "Refused while an export uses it.",
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
