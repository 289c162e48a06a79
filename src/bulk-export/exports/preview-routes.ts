import { json, type Route, route } from "../../platform/http/route.ts";
import type { PreviewService } from "./export-preview.ts";
import { previewBody, previewExportBody } from "./export-schemas.ts";

export function exportPreviewRoutes(service: PreviewService): Route[] {
  return [
    route(
      {
        method: "post",
        path: "/api/v1/bulk-exports/preview",
        operationId: "preview_bulk_export",
        summary: "Count the runs that a bulk export would contain",
        description:
          "Takes the fields of an export that choose runs, and changes nothing. After two seconds of counting, the response is an estimate.",
        tag: "Bulk exports",
        access: { kind: "workspace", role: "viewer", scope: ["read", "export"] },
        body: previewExportBody,
        responses: { 200: { description: "How many there are", schema: previewBody } },
        errors: [404],
      },
      async ({ caller, body }) => json(200, await service.preview(caller.workspaceId, body)),
    ),
  ];
}
