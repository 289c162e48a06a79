import { z } from "zod";
import { wireTime } from "../../platform/exact-time.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { pathInBucket } from "../destinations/destination.ts";
import { partitionPercentage } from "../partitions/partition-cursor.ts";
import { partitionBody } from "./export-schemas.ts";
import type { ExportService, PartitionView } from "./export-service.ts";

const tag = "Bulk exports";
const access = { kind: "workspace", role: "viewer", scope: ["read", "export"] } as const;
const list = { description: "The runs, in the order of their windows", schema: z.array(partitionBody) };

export function partitionRoutes(service: ExportService): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/v1/bulk-exports/runs",
        operationId: "list_bulk_export_runs_of_schedule",
        summary: "List the runs of all exports that a schedule has created",
        tag,
        access,
        query: z.object({ source_bulk_export_id: z.guid() }),
        responses: { 200: list },
        errors: [404],
      },
      async ({ caller, query }) => {
        const found = await service.listPartitionsOfSchedule(caller.workspaceId, query.source_bulk_export_id);
        return json(200, found.map(toWire));
      },
    ),
    route(
      {
        method: "get",
        path: "/api/v1/bulk-exports/{bulk_export_id}/runs",
        operationId: "list_bulk_export_runs",
        summary: "List the runs of a bulk export",
        description:
          "One run per project and UTC day, a partition of the export; their windows cover the export's without gap or overlap.",
        tag,
        access,
        params: z.object({ bulk_export_id: z.guid() }),
        responses: { 200: list },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(200, (await service.listPartitions(caller.workspaceId, params.bulk_export_id)).map(toWire)),
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
        responses: { 200: { description: "The run", schema: partitionBody } },
        errors: [404],
      },
      async ({ caller, params }) =>
        json(
          200,
          toWire(await service.getPartition(caller.workspaceId, params.bulk_export_id, params.run_id)),
        ),
    ),
  ];
}

function toWire({ partition, destination }: PartitionView): z.input<typeof partitionBody> {
  const { config } = destination;
  const window = { start_time: wireTime(partition.start_time), end_time: wireTime(partition.end_time) };
  return {
    id: partition.id,
    bulk_export_id: partition.bulk_export_id,
    session_id: partition.session_id,
    status: partition.status,
    retry_number: partition.retry_number,
    errors: partition.errors,
    ...window,
    percentage: partitionPercentage(partition),
    metadata: {
      prefix: config.prefix,
      ...window,
      execution_backend: "postgres",
      result: partition.started_at === null ? null : resultOf({ partition, destination }),
    },
    created_at: wireTime(partition.created_at),
    updated_at: wireTime(partition.updated_at),
    finished_at: partition.finished_at === null ? null : wireTime(partition.finished_at),
  };
}

function resultOf({ partition, destination: { config } }: PartitionView) {
  const pending = partition.pending_upload;
  return {
    rows_written: partition.rows_written,
    bytes_written: partition.bytes_written,
    exported_files: partition.files.map((file) => pathInBucket(config, file.path)),
    export_path: pathInBucket(config, partition.export_path),
    latest_cursor: partition.latest_cursor,
    pending_upload: pending && {
      target_cursor: pending.target_cursor,
      file_path: pathInBucket(config, pending.file_path),
      rows_count: pending.rows_count,
    },
  };
}
