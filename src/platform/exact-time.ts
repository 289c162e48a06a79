/** Times to the microsecond: dates of the language stop at the millisecond and a window must not. */
export type Micros = bigint;

export const microsPerHour = 3_600_000_000n;
export const microsPerDay = 24n * microsPerHour;

const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;

/** Undefined when the text is no time. Without a zone it is UTC; digits after the sixth are dropped. */
export function parseMicros(text: string): Micros | undefined {
  const parts = pattern.exec(text.trim());
  if (!parts) return undefined;
  const [, year, month, day, hour = "0", minute = "0", second = "0", fraction = "", zone = "Z"] = parts;
  const numbers = [year, month, day, hour, minute, second].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (!isCalendarTime(numbers)) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(numbers[0], numbers[1] - 1, numbers[2]);
  date.setUTCHours(numbers[3], numbers[4], numbers[5]);
  const micros = BigInt(date.getTime()) * 1000n + BigInt(fraction.slice(0, 6).padEnd(6, "0"));
  return micros - zoneMicros(zone);
}

function isCalendarTime(numbers: readonly [number, number, number, number, number, number]): boolean {
  const [year, month, day, hour, minute, second] = numbers;
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const monthEnd = new Date(0);
  monthEnd.setUTCFullYear(year, month, 0);
  return day <= monthEnd.getUTCDate() && hour < 24 && minute < 60 && second < 60;
}

function zoneMicros(zone: string): Micros {
  if (zone.toUpperCase() === "Z") return 0n;
  const digits = zone.slice(1).replace(":", "");
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2, 4) || "0");
  return BigInt(minutes) * (zone[0] === "-" ? -60_000_000n : 60_000_000n);
}

/** `YYYY-MM-DDTHH:MM:SS.ffffffZ`: sorts as text, and SQL reads it exactly. */
export function microsText(micros: Micros): string {
  const rest = ((micros % 1000n) + 1000n) % 1000n;
  return dateText(micros).replace("Z", `${String(rest).padStart(3, "0")}Z`);
}

/** As answers show it: `2026-01-01T00:00:00+00:00`, with the fraction only where there is one. */
export function wireTime(text: string): string {
  return text.replace(/(?:\.(?:0+|(\d*)))?Z$/, (_all, fraction: string | undefined) =>
    fraction ? `.${fraction}+00:00` : "+00:00",
  );
}

export function microsOf(date: Date): Micros {
  return BigInt(date.getTime()) * 1000n;
}

export function dayStart(micros: Micros): Micros {
  return micros - (((micros % microsPerDay) + microsPerDay) % microsPerDay);
}

/** The calendar day, UTC. */
export function calendarDay(micros: Micros): { year: number; month: number; day: number } {
  const date = new Date(Number(dayStart(micros) / 1000n));
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

function dateText(micros: Micros): string {
  const rest = ((micros % 1000n) + 1000n) % 1000n;
  return new Date(Number((micros - rest) / 1000n)).toISOString();
}

/** SQL that reads a time as `microsText` writes it. */
export function exactTimeSql(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
