import type { BulkExport, Destination } from "./export-api.ts";

/** What exports look like in words. Pure. */

export function subjectOf(row: BulkExport, names: ReadonlyMap<string, string>): string {
  if (row.all_experiments || row.session_id === null) return "All experiments";
  return names.get(row.session_id) ?? `Project ${row.session_id.slice(0, 8)}`;
}

/** `2026-05-05 00:00`, in UTC as exports count their days; without a time of midnight. */
export function utcText(time: string): string {
  const text = new Date(time).toISOString();
  return text.slice(11, 16) === "00:00" ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 16)}`;
}

export function windowText({ start_time, end_time }: Pick<BulkExport, "start_time" | "end_time">): string {
  if (end_time !== null && isWholeDay(start_time, end_time)) return utcText(start_time);
  return end_time === null ? `from ${utcText(start_time)}` : `${utcText(start_time)} – ${utcText(end_time)}`;
}

/** Without its folders, which repeat what is beside it. */
export function fileName({ key }: { key: string }): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

function isWholeDay(start: string, end: string): boolean {
  return utcText(start).length === 10 && Date.parse(end) - Date.parse(start) === 86_400_000;
}

export function intervalText(hours: number): string {
  if (hours === 1) return "every hour";
  if (hours === 24) return "every day";
  if (hours === 168) return "every week";
  return hours % 24 === 0 ? `every ${hours / 24} days` : `every ${hours} hours`;
}

/** A schedule does not wait for anything: it continues until it is cancelled. */
export function statusOf(row: Pick<BulkExport, "interval_hours" | "status">): string {
  if (row.status !== "CREATED") return row.status;
  return row.interval_hours === null ? "queued" : "active";
}

/** The form of a new export, filled in as this one was. */
export function againPath(row: BulkExport): string {
  const filled = {
    project: row.session_id ?? "all",
    destination: row.bulk_export_destination_id,
    from: row.start_time,
    ...(row.end_time === null ? {} : { to: row.end_time }),
    ...(row.filter === null ? {} : { filter: row.filter }),
  };
  return `/exports/new?${new URLSearchParams(filled)}`;
}

export function placeText({ config }: Destination): string {
  const at = config.bucket_name ?? config.endpoint_url ?? "";
  return config.prefix === "" ? at : `${at}/${config.prefix}`;
}

const newCredentials = "Give the destination working credentials, then export again.";
const otherBucket = "Create the bucket, or create a destination for another one, then export again.";
const reachStorage = "Check that the storage runs and can be reached from the server, then export again.";
const askForLess = "Export a shorter time, or fewer columns.";

const advices: Readonly<Record<string, string>> = {
  "blob.unknown_key": newCredentials,
  "blob.bad_secret": newCredentials,
  "blob.bad_token": newCredentials,
  "blob.no_credentials": newCredentials,
  "blob.no_permission": newCredentials,
  "blob.no_bucket": otherBucket,
  "blob.bad_bucket_name": otherBucket,
  "blob.wrong_region": "Create a destination with the bucket's region, then export again.",
  "blob.full": "Free some space in the storage, then export again.",
  "blob.unreachable": reachStorage,
  "blob.busy": reachStorage,
  "blob.refused": reachStorage,
  "bulk_export.timeout": askForLess,
  "bulk_export.run_timeout": askForLess,
};

/** What a user can do about a failure. */
export function adviceFor(code: string | null): string {
  return advices[code ?? ""] ?? "Export again; files already in the bucket stay and are not counted twice.";
}

export function duckDbSnippet(row: BulkExport, destination: Destination | undefined): string {
  const config = destination?.config;
  const host = config?.endpoint_url ? new URL(config.endpoint_url) : null;
  const secret = ["type s3", "key_id '…'", "secret '…'", `region '${config?.region ?? "us-east-1"}'`];
  const elsewhere = [
    ...(host
      ? [
          `endpoint '${host.host}'`,
          "url_style 'path'",
          ...(host.protocol === "http:" ? ["use_ssl false"] : []),
        ]
      : []),
  ];
  const root = `s3://${destination ? placeText(destination) : "bucket"}`;
  const id = row.interval_hours === null ? row.id : "*";
  const columns = ["start_time", "name", "run_type", "status", "total_tokens"].filter(
    (name) => row.export_fields === null || row.export_fields.includes(name),
  );
  return `install httpfs; load httpfs;
create secret (${secret.join(", ")}${elsewhere.length === 0 ? "" : `,\n  ${elsewhere.join(", ")}`});
select ${columns.length > 0 ? columns.join(", ") : "*"}
from read_parquet(
  '${root}/export_id=${id}/**/*.parquet',
  hive_partitioning = true)
limit 20;`;
}
