import { isJsonTooDeep } from "../../platform/json-depth.ts";
import { FilterFault } from "./filter-error.ts";
import type { SyntaxValue } from "./filter-parser.ts";

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

export function badValue(value: SyntaxValue, problem: string, expected?: string): FilterFault {
  return new FilterFault(value.offset, "value_not_valid", problem, expected);
}

function wrongType(value: SyntaxValue, expected: string): FilterFault {
  const found = {
    string: "text",
    number: "a number",
    boolean: "true or false",
    null: "null",
    list: "a list",
  };
  return badValue(value, `The value is ${found[value.kind]}.`, expected);
}

export function readUuid(value: SyntaxValue): string {
  if (value.kind !== "string") throw wrongType(value, "a uuid as quoted text");
  if (!uuid.test(value.value)) {
    throw badValue(value, "The text is not a uuid.", "a uuid such as a UUIDv4 with dashes");
  }
  // Written in one way only: not every database reads one with some of its dashes.
  const digits = value.value.toLowerCase().replaceAll("-", "");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export function readText(value: SyntaxValue): string {
  if (value.kind !== "string") throw wrongType(value, "quoted text");
  return value.value;
}

/** Entries keep their values as text, for every type: `5` finds 5 and "5", `true` finds true. */
export function readPairText(value: SyntaxValue): string {
  if (value.kind === "number" || value.kind === "boolean") return String(value.value);
  return readText(value);
}

/** Run types and statuses: an upper-case one would silently match nothing. */
export function readWord(value: SyntaxValue): string {
  const text = readText(value);
  if (text !== text.toLowerCase()) {
    throw badValue(value, "The value must be in lower case.", JSON.stringify(text.toLowerCase()));
  }
  return text;
}

export function readNumber(value: SyntaxValue): number {
  if (value.kind !== "number") throw wrongType(value, "a number");
  return value.value;
}

/** Scores given as true or false are kept as 1 and 0. */
export function readScore(value: SyntaxValue): number {
  return value.kind === "boolean" ? Number(value.value) : readNumber(value);
}

export function readBoolean(value: SyntaxValue): boolean {
  if (value.kind !== "boolean") throw wrongType(value, "true or false");
  return value.value;
}

export function readDuration(value: SyntaxValue): number {
  const expected = 'seconds: a number, or text such as "1.5s"';
  if (value.kind === "number") return value.value;
  if (value.kind !== "string") throw wrongType(value, expected);
  const seconds = /^\s*(\d+(?:\.\d+)?|\.\d+)\s*s?\s*$/.exec(value.value)?.[1];
  if (seconds === undefined || !Number.isFinite(Number(seconds))) {
    throw badValue(value, `The text is not a number of seconds.`, expected);
  }
  return Number(seconds);
}

const isoTime =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*([Zz]|[-+]\d{2}(?::?\d{2})?)?)?$/;

/** Text in the form Postgres reads the same everywhere; no Date, which would lose the microseconds. */
export function readTime(value: SyntaxValue): string {
  const expected = "an ISO 8601 time such as 2026-01-31T09:30:00Z";
  if (value.kind !== "string") throw wrongType(value, `${expected} as quoted text`);
  const found = isoTime.exec(value.value.trim());
  const time = found ? assembleTime(found) : undefined;
  if (time === undefined) throw badValue(value, "The text is not a time.", expected);
  return time;
}

function assembleTime(found: RegExpExecArray): string | undefined {
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = "0", zone = "Z"] = found;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  date.setUTCFullYear(Number(year));
  const isDate = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  if (!isDate || Number(year) === 0) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const sign = zone.charAt(0);
  const offset = zone.slice(1).replace(":", "").padEnd(4, "0");
  if (sign !== "+" && sign !== "-") return `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction}Z`;
  if (Number(offset.slice(0, 2)) > 14 || Number(offset.slice(2)) > 59) return undefined;
  const utcOffset = `${sign}${offset.slice(0, 2)}:${offset.slice(2)}`;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction}${utcOffset}`;
}

/** Postgres refuses a pattern that ends in a lone escape. */
export function readPattern(value: SyntaxValue): string {
  const pattern = readPairText(value);
  const trailing = /\\*$/.exec(pattern)?.[0].length ?? 0;
  if (trailing % 2 === 1) {
    throw badValue(value, "The pattern ends with a backslash that escapes nothing.", "two backslashes");
  }
  return pattern;
}

/** Text holding JSON, for containment; kept as text so that big numbers keep their digits. */
export function readJson(value: SyntaxValue): string {
  const text = readText(value);
  try {
    const parsed: unknown = isJsonTooDeep(text) ? undefined : JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null) return text;
  } catch {
    // Falls through to the refusal, which names the place in the filter.
  }
  throw badValue(value, "The text is not a JSON object.", `text such as '{"key": "value"}'`);
}
