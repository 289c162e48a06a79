import { AppError, type ErrorCode } from "../../platform/errors.ts";
import { calendarDay, dayStart, type Micros, microsPerDay, microsText, parseMicros } from "../exact-time.ts";

export const exportStatuses = ["CREATED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"] as const;
export type ExportStatus = (typeof exportStatuses)[number];

/** Every move an export or one of its runs may make. A schedule only ever goes from CREATED to CANCELLED. */
export const exportTransitions: Record<ExportStatus, readonly ExportStatus[]> = {
  CREATED: ["RUNNING", "CANCELLED", "FAILED", "TIMEDOUT"],
  RUNNING: ["COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
  TIMEDOUT: [],
};

export function isFinished(status: ExportStatus): boolean {
  return exportTransitions[status].length === 0;
}

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

export type ExportFile = { path: string; rows: number; bytes: number; token: string };
export type PendingUpload = {
  target_cursor: string;
  file_path: string;
  rows_count: number;
  bytes: number;
  token: string;
};

export type ExportRun = {
  id: string;
  bulk_export_id: string;
  workspace_id: string;
  session_id: string;
  start_time: string;
  end_time: string;
  status: ExportStatus;
  retry_number: number;
  errors: Record<string, string> | null;
  export_path: string;
  files: ExportFile[];
  rows_written: number;
  bytes_written: number;
  latest_cursor: string | null;
  pending_upload: PendingUpload | null;
  job_id: string | null;
  started_at: string | null;
  finished_at: string | null;
  created_at: string;
  updated_at: string;
};

export type Window = { from: Micros; to: Micros };
export type PlannedRun = Window & { empty: boolean };

/** At most this many runs are made for days nobody wrote anything on. */
const maxEmptyDays = 5_000;

/**
 * One run per UTC day, without gap or overlap. In a very long window neighbouring days without runs share one,
 * so that an export of decades does not make a row for every day of them.
 */
export function planDays(window: Window, daysWithRuns: ReadonlySet<string>, projects: number): PlannedRun[] {
  const days = Number((dayStart(window.to - 1n) - dayStart(window.from)) / microsPerDay) + 1;
  const merge = days * projects > maxEmptyDays;
  const runs: PlannedRun[] = [];
  const ends = merge ? dayEnds(window, daysWithRuns) : everyDayEnd(window);
  let from = window.from;
  for (const to of ends) {
    runs.push({ from, to, empty: !daysWithRuns.has(dayText(from)) });
    from = to;
  }
  return runs;
}

function* everyDayEnd(window: Window): Generator<Micros> {
  for (let end = dayStart(window.from) + microsPerDay; end < window.to; end += microsPerDay) yield end;
  yield window.to;
}

/** Only the borders of days with runs. */
function* dayEnds(window: Window, daysWithRuns: ReadonlySet<string>): Generator<Micros> {
  let last = window.from;
  for (const day of [...daysWithRuns].sort()) {
    const start = parseMicros(day)!;
    for (const end of [start, start + microsPerDay]) {
      if (end > last && end < window.to) {
        yield end;
        last = end;
      }
    }
  }
  yield window.to;
}

export function dayText(micros: Micros): string {
  return microsText(micros).slice(0, 10);
}

/** The folder of a run's files, from the bucket's root, with a slash at the end. */
export function runFolder(input: {
  prefix: string;
  exportId: string;
  workspaceId: string;
  sessionId: string;
  from: Micros;
}): string {
  const { year, month, day } = calendarDay(input.from);
  const parts = [
    ...(input.prefix === "" ? [] : [input.prefix]),
    `export_id=${input.exportId}`,
    `tenant_id=${input.workspaceId}`,
    `session_id=${input.sessionId}`,
    "runs",
    `year=${year}`,
    `month=${month}`,
    `day=${day}`,
  ];
  return `${parts.join("/")}/`;
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

export function exportRunNotFound(id: string): AppError {
  return new AppError({
    code: "bulk_export.run_not_found",
    kind: "not_found",
    message: `Bulk export run ID ${id} not found.`,
  });
}

export function projectNotFound(id: string): AppError {
  return new AppError({
    code: "bulk_export.project_not_found",
    kind: "not_found",
    message: `Project ID ${id} not found.`,
  });
}
