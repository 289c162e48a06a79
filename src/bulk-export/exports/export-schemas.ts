import { z } from "zod";
import { microsText, parseMicros } from "../../platform/exact-time.ts";
import { compressions } from "../parquet/page-codec.ts";
import { exportStatuses } from "../partitions/export-status.ts";
import { exportFields } from "./export-fields.ts";

const wireTime = z.iso.datetime({ offset: true });

/** As UTC text with microseconds. */
const exactTime = z.string().transform((text, context) => {
  const micros = parseMicros(text);
  if (micros !== undefined) return microsText(micros);
  context.addIssue({ code: "custom", message: "Input should be a valid ISO 8601 date-time" });
  return z.NEVER;
});

/** Any case is accepted, one is kept. */
const oneOf = <const Names extends readonly [string, ...string[]]>(names: Names) =>
  z
    .string()
    .transform((text) => names.find((name) => name.toLowerCase() === text.toLowerCase()) ?? text)
    .pipe(z.enum(names));

const maxWindowYears = 100;
const maxWindowMicros = BigInt(maxWindowYears) * 366n * 86_400_000_000n;

const fields = z
  .array(z.enum(exportFields))
  .min(1)
  .transform((names) => [...new Set(names)]);

/** Which runs: what an export and its preview have in common. */
const selection = {
  session_id: z.guid().nullish().describe("The project; exactly one of this and all_experiments."),
  all_experiments: z
    .boolean()
    .nullish()
    .describe("Every experiment of the workspace, found when the export starts."),
  start_time: exactTime.describe("Inclusive. Without a zone it is UTC."),
  end_time: exactTime.nullish().describe("Exclusive. Required, unless interval_hours is given."),
  interval_hours: z
    .int()
    .min(1)
    .max(168)
    .nullish()
    .describe(
      "Makes it a schedule: one export per window of this many hours, 10 minutes after the window ends.",
    ),
  filter: z.string().max(50_000).nullish().describe("Filter query; when unset all runs are exported."),
  trace_filter: z
    .string()
    .max(50_000)
    .nullish()
    .describe("Filter query on the root of a run's trace: whole traces are exported or left out."),
};

type Selection = z.output<z.ZodObject<typeof selection>>;

function checkSelection(body: Selection, context: z.core.$RefinementCtx): void {
  const fault = (field: string, message: string) =>
    context.addIssue({ code: "custom", path: [field], message });
  const all = body.all_experiments === true;
  if (body.session_id != null && all) fault("all_experiments", "must not be set together with session_id");
  if (body.session_id == null && !all) fault("session_id", "is required, unless all_experiments is true");
  if (body.interval_hours != null && body.end_time != null) {
    fault("end_time", "must be omitted when interval_hours is set");
  }
  if (body.interval_hours == null && body.end_time == null) {
    fault("end_time", "is required, unless interval_hours is set");
  }
  if (body.end_time == null) return;
  const length = parseMicros(body.end_time)! - parseMicros(body.start_time)!;
  if (length <= 0n) fault("end_time", "must be after start_time");
  if (length > maxWindowMicros)
    fault("start_time", `must be at most ${maxWindowYears} years before end_time`);
}

export const createExportBody = z
  .object({
    bulk_export_destination_id: z.guid(),
    ...selection,
    export_fields: fields.nullish().describe("Columns to write; when omitted, all but feedbacks."),
    format: oneOf(["Parquet"]).default("Parquet"),
    format_version: oneOf(["v1", "v2_beta"]).default("v1"),
    compression: oneOf(compressions).default("zstandard"),
  })
  .superRefine(checkSelection);
export type CreateExport = z.output<typeof createExportBody>;

export const previewExportBody = z.object(selection).superRefine(checkSelection);
export type PreviewExport = z.output<typeof previewExportBody>;

export const previewBody = z
  .object({
    rows: z
      .int()
      .min(0)
      .describe("Runs the export would contain now; for a schedule, those from start_time to now."),
    estimate: z.boolean().describe("Counting would have taken too long: rows is the database's estimate."),
    projects: z.int().min(0).describe("Projects the runs are in."),
  })
  .meta({ id: "BulkExportPreview" });

export const cancelExportBody = z.object({
  status: oneOf(["CANCELLED"]).default("CANCELLED").describe("Only CANCELLED, in any case."),
});

const progress = z
  .object({
    runs_total: z.int(),
    runs_finished: z.int(),
    rows_written: z
      .int()
      .describe(
        "While ClickHouse writes a file, with the rows that are in it by now. A file that was interrupted begins again.",
      ),
    files_written: z.int(),
    bytes_written: z.int(),
    percentage: z.number().min(0).max(100),
  })
  .meta({ id: "BulkExportProgress" });

export const exportBody = z
  .object({
    id: z.guid(),
    tenant_id: z.guid(),
    bulk_export_destination_id: z.guid(),
    session_id: z.guid().nullable(),
    all_experiments: z.boolean(),
    start_time: wireTime,
    end_time: wireTime.nullable(),
    interval_hours: z.int().nullable(),
    filter: z.string().nullable(),
    trace_filter: z.string().nullable(),
    export_fields: z.array(z.string()).nullable(),
    format: z.string(),
    format_version: z.string(),
    compression: z.string(),
    status: z.enum(exportStatuses),
    source_bulk_export_id: z.guid().nullable().describe("The schedule that created it."),
    error: z.string().nullable().describe("Why it did not complete."),
    error_code: z
      .string()
      .nullable()
      .describe("The same for programs, for example `blob.no_bucket`. Null where it is not known."),
    skipped_session_ids: z
      .array(z.guid())
      .describe("Experiments above the limit of one export: export each with its session_id."),
    progress,
    created_at: wireTime,
    updated_at: wireTime,
    finished_at: wireTime.nullable(),
  })
  .meta({ id: "BulkExport" });

export const partitionBody = z
  .object({
    id: z.guid(),
    bulk_export_id: z.guid(),
    session_id: z.guid().nullable(),
    status: z.enum(exportStatuses),
    retry_number: z.int(),
    errors: z
      .record(z.string(), z.string())
      .nullable()
      .describe("retry_0, retry_1, …: what stopped each attempt."),
    start_time: wireTime,
    end_time: wireTime,
    percentage: z.number().min(0).max(100),
    metadata: z.object({
      prefix: z.string(),
      start_time: wireTime,
      end_time: wireTime,
      execution_backend: z.string().nullable(),
      result: z
        .object({
          rows_written: z.int(),
          bytes_written: z.int(),
          exported_files: z.array(z.string()).describe("`<bucket>/<key>`, without a scheme."),
          export_path: z.string(),
          latest_cursor: z.string().nullable(),
          pending_upload: z
            .object({ target_cursor: z.string(), file_path: z.string(), rows_count: z.int() })
            .nullable(),
        })
        .nullable(),
    }),
    created_at: wireTime,
    updated_at: wireTime,
    finished_at: wireTime.nullable(),
  })
  .meta({ id: "BulkExportRun" });

export const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).optional(),
  offset: z.coerce.number().int().min(0).default(0),
  source_bulk_export_id: z.guid().optional().describe("Only exports that this schedule created."),
  spawned: z
    .enum(["true", "false"])
    .transform((text) => text === "true")
    .optional()
    .describe("true: only exports that schedules created; false: only the others."),
});
