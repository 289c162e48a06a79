import type { ErrorCatalogue, KindsOf } from "../platform/errors.ts";

/** Every code this area fails with, and its kind. */
export const bulkExportErrors = {
  "bulk_export.defect": "internal",
  "bulk_export.destination_not_found": "not_found",
  "bulk_export.destination_used": "conflict",
  "bulk_export.file_gone": "not_found",
  "bulk_export.file_not_found": "not_found",
  "bulk_export.file_unreadable": "conflict",
  "bulk_export.finished": "conflict",
  "bulk_export.hourly_cap": "rate_limited",
  "bulk_export.interrupted": "unavailable",
  "bulk_export.not_found": "not_found",
  "bulk_export.plan_required": "forbidden",
  "bulk_export.project_not_found": "not_found",
  "bulk_export.run_ended": "conflict",
  "bulk_export.run_not_found": "not_found",
  "bulk_export.run_timeout": "unavailable",
  "bulk_export.schedule_cap": "rate_limited",
  "bulk_export.thread_lost": "internal",
  "bulk_export.timeout": "unavailable",
  "bulk_export.upload_damaged": "bad_gateway",
} as const satisfies ErrorCatalogue;

declare module "../platform/errors.ts" {
  interface KnownErrors extends KindsOf<typeof bulkExportErrors> {}
}
