import { AppError, type ErrorCode } from "../../platform/errors.ts";
import type { ExportStatus } from "../partitions/export-status.ts";

/** Times are UTC texts with microseconds. */
export type BulkExport = {
  id: string;
  workspace_id: string;
  bulk_export_destination_id: string;
  session_id: string | null;
  all_experiments: boolean;
  start_time: string;
  end_time: string | null;
  interval_hours: number | null;
  filter: string | null;
  trace_filter: string | null;
  export_fields: string[] | null;
  format: string;
  format_version: string;
  compression: "zstandard" | "snappy" | "gzip" | "none";
  status: ExportStatus;
  source_bulk_export_id: string | null;
  error: string | null;
  error_code: string | null;
  skipped_session_ids: string[];
  planned_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  created_at: string;
  updated_at: string;
};

/** Why it did not complete: for programs and for people. */
export type ExportFailure = { code: ErrorCode; message: string };

/** Without anything in it a filter is none. */
export function givenFilter(text: string | null | undefined): string | null {
  return text == null || text.trim() === "" ? null : text;
}

export function manifestKey(prefix: string, exportId: string): string {
  return `${prefix === "" ? "" : `${prefix}/`}_manifests/${exportId}.json`;
}

export function exportNotFound(id: string): AppError {
  return new AppError({
    code: "bulk_export.not_found",
    kind: "not_found",
    message: `Bulk export ID ${id} not found.`,
  });
}

export function projectNotFound(id: string): AppError {
  return new AppError({
    code: "bulk_export.project_not_found",
    kind: "not_found",
    message: `Project ID ${id} not found.`,
  });
}
