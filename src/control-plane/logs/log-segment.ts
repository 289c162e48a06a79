import type { LogKind, LogRow } from "./log.ts";
import type { LogFilter } from "./log-store.ts";

/** Lines of one log and one day, packed in the storage. */
export type LogSegment = {
  id: string;
  deployment_id: string;
  kind: LogKind;
  /** When its lines were stored: `2026-11-17`. */
  day: string;
  first_id: number;
  last_id: number;
  first_at: Date;
  last_at: Date;
  lines: number;
  bytes: number;
  revision_ids: string[];
  levels: string[];
};

/** A page of an old log reads one of these, so they are no larger than is quick. */
export const segmentLimits = { lines: 5_000, bytes: 4 * 1024 * 1024 };
/** One line may be beyond the limit. What unpacks to more than this was not packed here. */
export const mostUnpackedBytes = 4 * segmentLimits.bytes;

const dayMs = 24 * 60 * 60_000;
export function segmentKey({ deployment_id, day, id }: Pick<LogSegment, "deployment_id" | "day" | "id">) {
  return `logs/${deployment_id}/${day}/${id}.ndjson.gz`;
}

export const dayOf = (time: Date) => time.toISOString().slice(0, 10);

/** The start of the day (UTC) so many days ago. What was stored before it is at least so many days old. */
export function daysBefore(now: Date, days: number): Date {
  return new Date(Math.floor((now.getTime() - days * dayMs) / dayMs) * dayMs);
}

type PackedLine = Omit<LogRow, "kind" | "at"> & { at: string };

export function packLine({ id, revision_id, at, level, message, run_id, origin }: LogRow): string {
  const line: PackedLine = { id, revision_id, at: at.toISOString(), level, message, run_id, origin };
  return `${JSON.stringify(line)}\n`;
}

/** Throws on what is no line. */
export function unpackLine(text: string, kind: LogKind): LogRow {
  const { at, ...line } = JSON.parse(text) as PackedLine;
  if (!Number.isSafeInteger(line.id) || typeof line.message !== "string") throw new Error("not a line");
  return { ...line, kind, at: new Date(at) };
}

/** Whether a packed line may be what is looked for; far quicker than to unpack it. */
export function roughFilter(filter: LogFilter): (packed: string) => boolean {
  const exact = [
    ...(filter.revisionId === undefined ? [] : [`"revision_id":${JSON.stringify(filter.revisionId)}`]),
    ...(filter.level === undefined ? [] : [`"level":${JSON.stringify(filter.level)}`]),
    ...(filter.runId === undefined ? [] : [`"run_id":${JSON.stringify(filter.runId)}`]),
  ];
  const text = filter.text ? lower(JSON.stringify(filter.text).slice(1, -1)) : "";
  return (packed) =>
    exact.every((part) => packed.includes(part)) && (text === "" || lower(packed).includes(text));
}

/** The same question that the statement asks of lines in the database. */
export function exactFilter(filter: LogFilter): (line: LogRow) => boolean {
  const text = filter.text ? lower(filter.text) : "";
  return (line) =>
    (filter.revisionId === undefined || line.revision_id === filter.revisionId) &&
    (filter.level === undefined || line.level === filter.level) &&
    (filter.runId === undefined || line.run_id === filter.runId) &&
    (filter.startTime === undefined || line.at >= filter.startTime) &&
    (filter.endTime === undefined || line.at <= filter.endTime) &&
    (filter.after === undefined ||
      (filter.order === "asc" ? line.id > filter.after : line.id < filter.after)) &&
    (text === "" || lower(line.message).includes(text));
}

/** Letter by letter, as the database does it: a sigma at the end of a word is one like others. */
function lower(text: string): string {
  return text.toLowerCase().replaceAll("ς", "σ");
}

/** Each line once, in the order asked for, and no more than asked for. */
export function mergeLines(
  pages: readonly (readonly LogRow[])[],
  { order, limit }: Pick<LogFilter, "order"> & { limit: number },
): LogRow[] {
  const byId = new Map(pages.flat().map((line) => [line.id, line]));
  const direction = order === "asc" ? 1 : -1;
  return [...byId.values()].sort((a, b) => direction * (a.id - b.id)).slice(0, limit);
}
