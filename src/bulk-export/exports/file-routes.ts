import { z } from "zod";
import { wireTime } from "../../platform/exact-time.ts";
import { json, type Route, route } from "../../platform/http/route.ts";
import { addressInBucket } from "../destinations/destination.ts";
import type { FileCursor, ListedFile } from "../partitions/file-store.ts";
import type { ExportService, FileView } from "./export-service.ts";
import type { FileLinks } from "./file-links.ts";

const tag = "Bulk exports";
const time = z.iso.datetime({ offset: true });
const cursorForm = /^([0-9a-f-]{36})\.(\d{1,7})$/i;

const listQuery = z.object({
  run_id: z.guid().optional().describe("Only files of this run, which is one project and day."),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  cursor: z
    .string()
    .regex(cursorForm, "Must be the next_cursor of a page")
    .optional()
    .describe("`next_cursor` of the previous page."),
});

const fileBody = z
  .object({
    run_id: z.guid().describe("The run of the export that wrote it."),
    part: z.int().min(0).describe("Its number in the run, from 0."),
    session_id: z.guid().describe("The project whose runs are in it."),
    start_time: time.describe("Of its run's window."),
    end_time: time,
    key: z.string().describe("In the bucket, with the prefix."),
    uri: z
      .string()
      .describe("`s3://<bucket>/<key>`, or the address below the endpoint where that names the bucket."),
    rows: z.int(),
    bytes: z.int(),
  })
  .meta({ id: "BulkExportFile" });

const linkBody = z
  .object({
    url: z.string().describe("Everybody who has it can download the file until it expires."),
    expires_at: time,
  })
  .meta({ id: "BulkExportFileLink" });

export function fileRoutes(service: ExportService, links: FileLinks): Route[] {
  return [
    route(
      {
        method: "get",
        path: "/api/v1/bulk-exports/{bulk_export_id}/files",
        operationId: "list_bulk_export_files",
        summary: "List the files that a bulk export has written",
        description: "In the order of their windows. While the export runs, the files so far.",
        tag,
        access: { kind: "workspace", role: "viewer", scope: ["read", "export"] },
        params: z.object({ bulk_export_id: z.guid() }),
        query: listQuery,
        responses: {
          200: {
            description: "A page of files",
            schema: z.object({ files: z.array(fileBody), next_cursor: z.string().nullable() }),
          },
        },
        errors: [404],
      },
      async ({ caller, params, query }) => {
        const found = await service.listFiles(caller.workspaceId, params.bulk_export_id, {
          // One more than asked for says whether there is another page.
          limit: query.limit + 1,
          after: readCursor(query.cursor),
          partitionId: query.run_id ?? null,
        });
        const shown = found.slice(0, query.limit);
        const last = found.length > shown.length ? shown.at(-1) : undefined;
        return json(200, { files: shown.map(toWire), next_cursor: last ? cursorOf(last.file) : null });
      },
    ),
    route(
      {
        method: "post",
        path: "/api/v1/bulk-exports/{bulk_export_id}/runs/{run_id}/link",
        operationId: "create_bulk_export_file_link",
        summary: "Create a download link for a file",
        description:
          "A signed URL of the storage, valid for five minutes. It is made with the destination's credentials, which must be allowed to read the file. Downloading does not pass through this server.",
        tag,
        access: { kind: "workspace", role: "admin", scope: "export" },
        audit: {
          action: "export.file_linked",
          target: { kind: "export", id: "params.bulk_export_id" },
          details: { run_id: "params.run_id", part: "body.part" },
        },
        params: z.object({ bulk_export_id: z.guid(), run_id: z.guid() }),
        body: z.object({ part: z.int().min(0).describe("The file's number in the run, from 0.") }),
        responses: { 200: { description: "The link", schema: linkBody } },
        errors: [400, 404, 409],
      },
      async ({ caller, params, body }) => {
        const { url, expiresAt } = await links.create(caller.workspaceId, {
          exportId: params.bulk_export_id,
          partitionId: params.run_id,
          part: body.part,
        });
        return json(200, { url, expires_at: expiresAt.toISOString() });
      },
    ),
  ];
}

function toWire({ file, destination }: FileView): z.input<typeof fileBody> {
  return {
    run_id: file.partition_id,
    part: file.part,
    session_id: file.session_id,
    start_time: wireTime(file.start_time),
    end_time: wireTime(file.end_time),
    key: file.key,
    uri: addressInBucket(destination.config, file.key),
    rows: file.rows,
    bytes: file.bytes,
  };
}

function cursorOf({ partition_id, part }: ListedFile): string {
  return `${partition_id}.${part}`;
}

function readCursor(text: string | undefined): FileCursor | null {
  const [, partitionId, part] = cursorForm.exec(text ?? "") ?? [];
  return partitionId === undefined ? null : { partitionId, part: Number(part) };
}
