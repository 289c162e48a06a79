import { Cron } from "croner";
import { errorMessage } from "../../platform/errors.ts";

export type Schedule = {
  /** Strictly after the given moment; null when it never comes due again. */
  next(after: Date): Date | null;
};

export type ScheduleFault = { field: "schedule" | "timezone"; message: string };

/**
 * Five fields (minute, hour, day, month, weekday), a name such as `@daily`, or six fields, of which the last is the
 * second. Read in the time zone, UTC when there is none.
 */
export function parseSchedule(text: string, timezone: string | null): Schedule | ScheduleFault {
  const zone = timezone ?? "UTC";
  if (!isTimeZone(zone)) {
    return {
      field: "timezone",
      message: `"${zone}" is not a time zone. Use an IANA name, for example Europe/Berlin`,
    };
  }
  const pattern = patternOf(text);
  if (pattern === null) {
    return {
      field: "schedule",
      message:
        "A schedule has five fields: minute, hour, day of month, month, day of week; a sixth is the second",
    };
  }
  try {
    const cron = new Cron(pattern, { timezone: zone, paused: true });
    return { next: (after) => cron.nextRun(after) };
  } catch (error) {
    const reason = errorMessage(error).replace(/^CronPattern: /, "");
    return { field: "schedule", message: `"${text}" is not a schedule: ${reason}` };
  }
}

export function isFault(parsed: Schedule | ScheduleFault): parsed is ScheduleFault {
  return "field" in parsed;
}

/** The due time after `now`; null when the schedule has ended by then. */
export function nextDue(schedule: Schedule, now: Date, endTime: Date | null): Date | null {
  const next = schedule.next(now);
  return next !== null && (endTime === null || next <= endTime) ? next : null;
}

/** The parser wants the second in front, and reads "?" as the present moment instead of as any. */
function patternOf(text: string): string | null {
  const fields = text.trim().split(/\s+/);
  if (fields.length === 1 && /^@[a-z]+$/i.test(fields[0]!)) return fields[0]!;
  if (fields.length !== 5 && fields.length !== 6) return null;
  const any = fields.map((field) => (field === "?" ? "*" : field));
  const second = any[5] ?? "0";
  return [second, ...any.slice(0, 5)].join(" ");
}

function isTimeZone(name: string): boolean {
  // Offsets are understood too, but they are no names and know no daylight saving.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const timePattern = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** An ISO time; without an offset it is UTC. Null when it is none. */
export function parseTime(text: string): Date | null {
  const match = timePattern.exec(text.trim());
  if (!match) return null;
  const dateOnly = !/[T ]/i.test(text.trim());
  const time = new Date(
    dateOnly || match[1] ? text.trim().replace(" ", "T") : `${text.trim().replace(" ", "T")}Z`,
  );
  return Number.isNaN(time.getTime()) ? null : time;
}
