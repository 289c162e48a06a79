import { InvalidArgumentError, Option } from "commander";

const secondsOf: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** `90`, `90s`, `10m`, `2h`, `7d` in milliseconds. */
export function parseDuration(text: string): number {
  const [, amount, unit = "s"] = /^(\d+(?:\.\d+)?)\s*([smhdw]?)$/.exec(text.trim()) ?? [];
  if (amount === undefined) throw new InvalidArgumentError("It must be like 90, 90s, 10m, 2h or 7d.");
  return Number(amount) * (secondsOf[unit || "s"] ?? 1) * 1000;
}

/** An ISO time or day (UTC without a zone), `now`, or how long ago: `10m`, `2h`, `7d`. */
export function parseMoment(text: string, now: Date = new Date()): Date {
  if (text === "now") return now;
  if (/^\d+(\.\d+)?[smhdw]$/.test(text)) return new Date(now.getTime() - parseDuration(text));
  const zoned = /T.*(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : text.includes("T") ? `${text}Z` : text;
  const at = /^\d{4}-\d\d/.test(text) ? new Date(zoned) : new Date(Number.NaN);
  if (Number.isNaN(at.getTime())) {
    throw new InvalidArgumentError(
      "It must be a time like 2026-08-01, 2026-08-01T12:00:00Z, 10m, 7d or now.",
    );
  }
  return at;
}

export function parseCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > 100_000)
    throw new InvalidArgumentError("It must be a number from 1.");
  return count;
}

export function parseNumber(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text) || Number(text) <= 0)
    throw new InvalidArgumentError("It must be a number above 0.");
  return Number(text);
}

/** For options that may be given again and again. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

export function timeoutOption(description: string, fallback: string): Option {
  const option = new Option("--timeout <time>", description).argParser(parseDuration);
  return option.default(parseDuration(fallback), fallback);
}
