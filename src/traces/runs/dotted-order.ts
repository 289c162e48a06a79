import { normalizeUuid } from "../wire/wire-id.ts";
import { isPlainTime } from "../wire/wire-time.ts";

const segmentPattern = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})(\d{1,6})Z(.+)$/;

/** One run on the way from the root; the time is UTC text with microseconds. */
export type DottedSegment = { id: string; time: string };

export type DottedOrder = { text: string; segments: DottedSegment[] };

/** Null when the text is not of the form `time id . time id …`. */
export function parseDottedOrder(text: string): DottedOrder | null {
  const segments: DottedSegment[] = [];
  for (const part of text.split(".")) {
    const match = segmentPattern.exec(part);
    const id = match && normalizeUuid(match[8]!);
    if (!match || id === null) return null;
    const [, year, month, day, hour, minute, second, fraction] = match;
    const time = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction!.padEnd(6, "0")}Z`;
    if (!isPlainTime(time) && Number.isNaN(Date.parse(time))) return null;
    segments.push({ id, time });
  }
  return segments.length > maxDepth ? null : { text, segments };
}

/** Deeper traces come from a runaway recursion; each ancestor costs a place in every row. */
const maxDepth = 500;

/** The segment of a run that started at this time (UTC text with microseconds). */
export function dottedSegment(time: string, id: string): string {
  return `${time.replaceAll(/[-:.]/g, "")}${id}`;
}
