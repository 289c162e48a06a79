import { AppError } from "../../platform/errors.ts";
import {
  calendarDay,
  dayStart,
  type Micros,
  microsPerDay,
  microsText,
  parseMicros,
} from "../../platform/exact-time.ts";
import type { ExportStatus } from "./export-status.ts";

export type ExportFile = { path: string; rows: number; bytes: number; token: string };
export type PendingUpload = {
  target_cursor: string;
  file_path: string;
  rows_count: number;
  bytes: number;
  token: string;
  /**
   * Only of a file that an engine is writing: `rows_count` of so many are in it by now. Such a file counts when it is whole; one
   * that its writer did not finish is written again.
   */
  expected_rows?: number;
};

/** One project and one UTC day of an export: what is written, retried and counted on its own. */
export type Partition = {
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
export type PlannedPartition = Window & { empty: boolean };

/** At most this many partitions are made for days without runs. */
const maxEmptyDays = 5_000;

/**
 * One partition per UTC day, without gap or overlap. In a very long window neighbouring days without runs share one,
 * so that an export of decades does not make a row for every day of them.
 */
export function planDays(
  window: Window,
  daysWithRuns: ReadonlySet<string>,
  projects: number,
): PlannedPartition[] {
  const days = Number((dayStart(window.to - 1n) - dayStart(window.from)) / microsPerDay) + 1;
  const merge = days * projects > maxEmptyDays;
  const partitions: PlannedPartition[] = [];
  const ends = merge ? dayEnds(window, daysWithRuns) : everyDayEnd(window);
  let from = window.from;
  for (const to of ends) {
    partitions.push({ from, to, empty: !daysWithRuns.has(dayText(from)) });
    from = to;
  }
  return partitions;
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

/** The folder of a partition's files, from the bucket's root, with a slash at the end. */
export function partitionFolder(input: {
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

export function partitionNotFound(id: string): AppError {
  return new AppError({
    code: "bulk_export.run_not_found",
    kind: "not_found",
    message: `Bulk export run ID ${id} not found.`,
  });
}
