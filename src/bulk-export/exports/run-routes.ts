import { z } from "zod";
import { json, type Route, route } from "../../platform/http/route.ts";
import { pathInBucket } from "../destinations/destination.ts";
import { wireTime } from "../exact-time.ts";
import { cursorPercentage } from "../pipeline/run-cursor.ts";
import { exportRunBody } from "./export-schemas.ts";
import type { ExportService, RunView } from "./export-service.ts";

const tag = "Bulk exports";
const access = { kind: "workspace", role: "viewer", scope: ["read", "export"] } as const;
const list = { description: "The runs, in the order of their windows", schema: z.array(exportRunBody) };

export function exportRunRoutes(service: ExportService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/v1/bulk-exports/runs",
        operationId: "list_bulk_export_runs_of_schedule",
        summary: "List the runs of everything a schedule has spawned",
        tag,
        access,
        query: z.object({ source_bulk_export_id: z.guid() }),
        responses: { 200: list },
        errors: [404],
      },
      async ({ caller, query }) => {
        const found = await service.listRunsOfSchedule(caller.workspaceId, query.source_bulk_export_id);
        return json(200, found.map(toWire));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/bulk-exports/{bulk_export_id}/runs",
        operationId: "list_bulk_export_runs",
        summary: "List the runs of a bulk export",
        description: "One per project and UTC day; their windows cover the export's without gap or overlap.",
        tag,
        access,
        params: z.object({ bulk_export_id: z.guid() }),
        responses: { 200: list },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, (await service.listRuns(caller.workspaceId, params.bulk_export_id)).map(toWire)),
    ),
    route(
      {
        method: "get",
        path: "/api/v1/bulk-exports/{bulk_export_id}/runs/{run_id}",
        operationId: "get_bulk_export_run",
        summary: "Read one run of a bulk export",
        tag,
        access,
        params: z.object({ bulk_export_id: z.guid(), run_id: z.guid() }),
        responses: { 200: { description: "The run", schema: exportRunBody } },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, toWire(await service.getRun(caller.workspaceId, params.bulk_export_id, params.run_id))),
    ),
  ];
}

function toWire({ run, destination }: RunView): z.input<typeof exportRunBody> {
  const { config } = destination;
  const window = { start_time: wireTime(run.start_time), end_time: wireTime(run.end_time) };
  return {
    id: run.id,
    bulk_export_id: run.bulk_export_id,
    session_id: run.session_id,
    status: run.status,
    retry_number: run.retry_number,
    errors: run.errors,
    ...window,
    percentage:
      run.status === "COMPLETED" ? 100 : cursorPercentage(run.latest_cursor, run.start_time, run.end_time),
    metadata: {
      prefix: config.prefix,
      ...window,
      execution_backend: "postgres",
      result: run.started_at === null ? null : resultOf({ run, destination }),
    },
    created_at: wireTime(run.created_at),
    updated_at: wireTime(run.updated_at),
    finished_at: run.finished_at === null ? null : wireTime(run.finished_at),
  };
}

function resultOf({ run, destination: { config } }: RunView) {
  const pending = run.pending_upload;
  return {
    rows_written: run.rows_written,
    bytes_written: run.bytes_written,
    exported_files: run.files.map((file) => pathInBucket(config, file.path)),
    export_path: pathInBucket(config, run.export_path),
    latest_cursor: run.latest_cursor,
    pending_upload: pending && {
      target_cursor: pending.target_cursor,
      file_path: pathInBucket(config, pending.file_path),
      rows_count: pending.rows_count,
    },
  };
}
