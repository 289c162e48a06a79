import { z } from "zod";
import { wireTime } from "../../platform/exact-time.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { cancelExportBody, createExportBody, exportBody, listQuery } from "./export-schemas.ts";
import type { ExportService, ExportView } from "./export-service.ts";

const tag = "Bulk exports";
const params = z.object({ bulk_export_id: z.guid() });
const one = { description: "The export", schema: exportBody };

export function exportRoutes(service: ExportService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/v1/bulk-exports",
        operationId: "list_bulk_exports",
        summary: "List the bulk exports of the workspace",
        tag,
        access: { kind: "workspace", role: "viewer", scope: ["read", "export"] },
        query: listQuery,
        responses: { 200: { description: "The exports, newest first", schema: z.array(exportBody) } },
      },
      async ({ caller, query }) => {
        const page = {
          limit: query.limit ?? null,
          offset: query.offset,
          sourceId: query.source_bulk_export_id ?? null,
          spawned: query.spawned ?? null,
        };
        return json(200, (await service.list(caller.workspaceId, page)).map(toWire));
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/bulk-exports",
        operationId: "create_bulk_export",
        summary: "Create a bulk export",
        description:
          "One-time with end_time, or a schedule with interval_hours. Runs whose start_time is at or after start_time and before end_time are written as Parquet.",
        tag,
        access: { kind: "workspace", role: "admin", scope: "export" },
        audit: {
          action: "export.created",
          target: { kind: "export", id: "answer.id" },
          details: { destination_id: "body.bulk_export_destination_id", project_id: "body.session_id" },
        },
        body: createExportBody,
        idempotent: true,
        responses: { 200: one },
        errors: [404, 429],
      },
      async ({ caller, body }) => json(200, toWire(await service.create(caller, body))),
    ),
    route(
      {
        method: "get",
        path: "/api/v1/bulk-exports/{bulk_export_id}",
        operationId: "get_bulk_export",
        summary: "Read a bulk export",
        tag,
        access: { kind: "workspace", role: "viewer", scope: ["read", "export"] },
        params,
        responses: { 200: one },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, toWire(await service.get(caller.workspaceId, params.bulk_export_id))),
    ),
    route(
      {
        method: "patch",
        path: "/api/v1/bulk-exports/{bulk_export_id}",
        operationId: "cancel_bulk_export",
        summary: "Cancel a bulk export",
        description:
          "Ends it within a second; files already written stay. Cancelling a schedule does not cancel the exports it has created.",
        tag,
        access: { kind: "workspace", role: "admin", scope: "export" },
        audit: { action: "export.cancelled", target: { kind: "export", id: "params.bulk_export_id" } },
        params,
        body: cancelExportBody,
        responses: { 200: one },
        errors: [404, 409],
      },
      async ({ caller, params }) =>
        json(200, toWire(await service.cancel(caller.workspaceId, params.bulk_export_id))),
    ),
  ];
}

function toWire({ row, progress }: ExportView): z.input<typeof exportBody> {
  return {
    id: row.id,
    tenant_id: row.workspace_id,
    bulk_export_destination_id: row.bulk_export_destination_id,
    session_id: row.session_id,
    all_experiments: row.all_experiments,
    start_time: wireTime(row.start_time),
    end_time: row.end_time === null ? null : wireTime(row.end_time),
    interval_hours: row.interval_hours,
    filter: row.filter,
    trace_filter: row.trace_filter,
    export_fields: row.export_fields,
    format: row.format,
    format_version: row.format_version,
    compression: row.compression,
    status: row.status,
    source_bulk_export_id: row.source_bulk_export_id,
    error: row.error,
    error_code: row.error_code,
    skipped_session_ids: row.skipped_session_ids,
    progress: {
      runs_total: progress?.runs_total ?? 0,
      runs_finished: progress?.runs_finished ?? 0,
      rows_written: progress?.rows_written ?? 0,
      files_written: progress?.files_written ?? 0,
      bytes_written: progress?.bytes_written ?? 0,
      percentage: row.status === "COMPLETED" ? 100 : (progress?.percentage ?? 0),
    },
    created_at: wireTime(row.created_at),
    updated_at: wireTime(row.updated_at),
    finished_at: row.finished_at === null ? null : wireTime(row.finished_at),
  };
}
