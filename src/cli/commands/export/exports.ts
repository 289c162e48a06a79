import { z } from "zod";
import { AppError } from "../../../platform/errors.ts";
import { isUuid } from "../../../platform/ids.ts";
import { bulkExport, destination, exportRun, project } from "../../client/answers.ts";
import type { ApiClient } from "../../client/api-client.ts";
import { openSession } from "../../client/session.ts";
import { formatAge, formatBytes, formatCount, plural } from "../../terminal/amounts.ts";
import { printFields, printTable, statusStyle } from "../../terminal/table.ts";
import type { ExportOptions } from "./options.ts";

export async function listExports(options: ExportOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const query = { limit: Math.min(options.limit, 1000) };
  const found = await api.call(z.array(bulkExport), "GET", "/api/v1/bulk-exports", { query });
  output.data(found);
  if (found.length === 0) {
    output.line("There are no exports yet. `treadle export create --help` says how to make one.");
    return;
  }
  const names = await namesOf(api);
  const now = new Date();
  printTable(
    output,
    [
      { head: "EXPORT" },
      { head: "STATUS" },
      { head: "PROJECT", flexible: true },
      { head: "DESTINATION", flexible: true },
      { head: "WINDOW" },
      { head: "RUNS" },
      { head: "SIZE" },
      { head: "CREATED" },
    ],
    found.map((each) => [
      each.id,
      {
        text: each.interval_hours ? "SCHEDULE" : each.status,
        style: each.interval_hours ? "cyan" : statusStyle(each.status),
      },
      each.session_id ? (names.get(each.session_id) ?? each.session_id) : "all experiments",
      names.get(each.bulk_export_destination_id) ?? each.bulk_export_destination_id,
      each.interval_hours
        ? `every ${each.interval_hours} h`
        : `${day(each.start_time)} – ${day(each.end_time)}`,
      formatCount(each.progress.rows_written),
      formatBytes(each.progress.bytes_written),
      formatAge(each.created_at, now),
    ]),
  );
}

export async function showExport(id: string, options: ExportOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const found = await api.call(bulkExport, "GET", `/api/v1/bulk-exports/${checkedId(id)}`);
  const partitions = await api.call(z.array(exportRun), "GET", `/api/v1/bulk-exports/${id}/runs`);
  output.data({ ...found, runs: partitions });
  const names = await namesOf(api);
  const { progress } = found;
  printFields(output, [
    ["Export", { text: found.id, style: "bold" }],
    ["Status", { text: found.status, style: statusStyle(found.status) }],
    ["Reason", found.error],
    ["Project", found.session_id ? (names.get(found.session_id) ?? found.session_id) : "all experiments"],
    ["Destination", names.get(found.bulk_export_destination_id)],
    [
      "Window",
      found.interval_hours
        ? `every ${plural(found.interval_hours, "hour")} from ${found.start_time}`
        : `${found.start_time} – ${found.end_time}`,
    ],
    ["Filter", found.filter],
    ["Trace filter", found.trace_filter],
    [
      "Progress",
      `${Math.round(progress.percentage)} %, ${plural(progress.rows_written, "run")} in ${plural(progress.files_written, "file")}, ${formatBytes(progress.bytes_written)}`,
    ],
  ]);
  if (partitions.length === 0) return;
  output.line();
  printTable(
    output,
    [{ head: "DAY" }, { head: "STATUS" }, { head: "RUNS" }, { head: "FILES", flexible: true }],
    partitions.map((partition) => [
      day(partition.start_time),
      { text: partition.status, style: statusStyle(partition.status) },
      formatCount(partition.metadata.result?.rows_written ?? 0),
      partition.metadata.result?.exported_files.join(" ") ?? "",
    ]),
  );
}

export async function cancelExport(id: string, options: ExportOptions): Promise<void> {
  const { api, output } = await openSession(options);
  const ended = await api.call(bulkExport, "PATCH", `/api/v1/bulk-exports/${checkedId(id)}`, {
    body: { status: "CANCELLED" },
  });
  output.data(ended);
  output.line(`${ended.interval_hours ? "Schedule" : "Export"} ${id} is cancelled. What is written stays.`);
}

export function checkedId(id: string): string {
  if (isUuid(id)) return id;
  throw new AppError({
    code: "client.export_unknown",
    kind: "not_found",
    message: `There is no export ${id}. \`treadle export list\` shows the ids.`,
  });
}

/** Names of projects and destinations by id. */
async function namesOf(api: ApiClient): Promise<Map<string, string>> {
  const [projects, destinations] = await Promise.all([
    api.call(z.array(project), "GET", "/api/v1/sessions", { query: { limit: 100 } }),
    api.call(z.array(destination), "GET", "/api/v1/bulk-exports/destinations"),
  ]);
  return new Map([
    ...projects.map(({ id, name }) => [id, name] as const),
    ...destinations.map(({ id, display_name }) => [id, display_name] as const),
  ]);
}

function day(time: string | null | undefined): string {
  return time?.slice(0, 10) ?? "";
}
