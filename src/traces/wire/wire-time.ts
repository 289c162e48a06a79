const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;

/** The form most clients send, which is also the form it is kept in; days every month has need no calendar. */
const plainTime = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3])(?::[0-5]\d){2}\.\d{6}Z$/;

/**
 * A time as clients send it, in UTC with microseconds: ISO text (without a zone it is UTC), or a number since
 * 1970 in seconds, milliseconds, microseconds or nanoseconds, distinguished by its size. Null when it is none.
 */
export function readTime(value: unknown): string | null {
  if (typeof value === "number") return timeOfNumber(value);
  if (typeof value !== "string") return null;
  if (isPlainTime(value)) return value;
  const text = value.trim();
  const match = pattern.exec(text);
  if (!match) return /^-?\d+(\.\d+)?$/.test(text) ? timeOfNumber(Number(text)) : null;
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = "", zone] = match;
  const micros = fraction.padEnd(6, "0").slice(0, 6);
  const base = Date.UTC(+year!, +month! - 1, +day!, +hour, +minute, +second);
  // A date that rolls over, such as 30 February, was never meant.
  const date = new Date(base);
  const isReal =
    date.getUTCDate() === +day! && date.getUTCMonth() === +month! - 1 && date.getUTCFullYear() === +year!;
  if (!isReal || +year! < 1 || +hour > 23 || +minute > 59 || +second > 59) return null;
  return timeText(base - offsetMs(zone), micros);
}

export function isPlainTime(text: string): boolean {
  return plainTime.test(text) && !text.startsWith("0000");
}

function offsetMs(zone: string | undefined): number {
  if (zone === undefined || zone === "Z" || zone === "z") return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3).replace(":", "") || 0);
  return (zone[0] === "-" ? -minutes : minutes) * 60_000;
}

function timeOfNumber(value: number): string | null {
  if (!Number.isFinite(value) || value < 0) return null;
  const micros =
    value < 1e11 ? value * 1e6 : value < 1e14 ? value * 1e3 : value < 1e17 ? value : Math.floor(value / 1e3);
  return timeOfMicros(Math.round(micros));
}

/** From whole microseconds since 1970. */
export function timeOfMicros(micros: number): string | null {
  const seconds = Math.floor(micros / 1e6);
  if (seconds > 253_402_300_799) return null;
  return timeText(seconds * 1000, String(micros - seconds * 1e6).padStart(6, "0"));
}

function timeText(wholeSecondMs: number, micros: string): string {
  return `${new Date(wholeSecondMs).toISOString().slice(0, 19)}.${micros}Z`;
}
