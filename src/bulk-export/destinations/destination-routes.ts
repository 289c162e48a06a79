import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { destinationBody, toDestinationBody } from "./destination-schemas.ts";
import type { DestinationService } from "./destination-service.ts";

const tag = "Bulk exports";
const params = z.object({ destination_id: z.guid() });
const one = { description: "The destination", schema: destinationBody };
const viewer = { kind: "workspace", role: "viewer", scope: ["read", "export"] } as const;

export function destinationRoutes(service: DestinationService): Route[] {
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
      async ({ caller }) => json(200, (await service.list(caller.workspaceId)).map(toDestinationBody)),
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
        json(200, toDestinationBody(await service.get(caller.workspaceId, params.destination_id))),
    ),
  ];
}
