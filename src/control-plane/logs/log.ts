export const logLevels = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] as const;
export type LogLevel = (typeof logLevels)[number];
export type LogKind = "build" | "deploy";

/** Whose lines, and of what. */
export type LogPlace = { deploymentId: string; revisionId: string; kind: LogKind };

/** Who wrote a line of a build log: a command of the project, or the platform about its own steps. */
export const logOrigins = ["platform", "project"] as const;
export type LogOrigin = (typeof logOrigins)[number];

export type LogLine = {
  at: Date;
  level: LogLevel;
  message: string;
  runId?: string | undefined;
  /** Of build logs only: what a server prints does not tell. */
  origin?: LogOrigin;
};

export type LogRow = {
  id: number;
  revision_id: string;
  kind: LogKind;
  at: Date;
  level: LogLevel;
  message: string;
  run_id: string | null;
  origin: LogOrigin | null;
};

const maxLineLength = 16_000;
/** What is longer is no run's id. */
const maxRunIdLength = 200;

/** Terminal colours and control characters mean nothing in a stored line; Postgres takes no NUL. */
export function plainLine(text: string): string {
  const plain = text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to be removed
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to be removed
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "")
    .toWellFormed();
  return plain.length > maxLineLength ? `${plain.slice(0, maxLineLength)}…` : plain;
}

const numericLevels: [number, LogLevel][] = [
  [60, "CRITICAL"],
  [50, "ERROR"],
  [40, "WARNING"],
  [30, "INFO"],
];

/** A line of an agent server: JSON from its logger, or text that a graph printed. */
export function parseServerLine(line: string, now: Date): LogLine {
  const fallback = { at: now, level: "INFO" as const, message: plainLine(line) };
  if (!line.startsWith("{")) return fallback;
  let parsed: Record<string, unknown>;
  try {
    parsed = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return fallback;
  }
  if (typeof parsed.level !== "number" || typeof parsed.msg !== "string") return fallback;
  const level = numericLevels.find(([least]) => (parsed.level as number) >= least)?.[1] ?? "DEBUG";
  const { level: _level, time, msg, ...rest } = parsed;
  const at = typeof time === "string" && isTime(time) ? new Date(time) : now;
  const extra = Object.keys(rest).length > 0 ? ` ${JSON.stringify(rest)}` : "";
  const named = [rest.runId, rest.run_id].find((value) => typeof value === "string") as string | undefined;
  const runId = named === undefined ? undefined : cut(plainLine(named), maxRunIdLength);
  return { at, level, message: plainLine(`${msg}${extra}`), runId };
}

/** With a year of four digits: a database and the API take no other. */
function isTime(text: string): boolean {
  const ms = Date.parse(text);
  return ms >= 0 && ms < Date.UTC(10_000, 0);
}

/** Cut to that length, and never in the middle of a character. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).toWellFormed();
}

/** Takes secrets out of what others print. */
export function redact(text: string, secrets: readonly string[]): string {
  return secrets.reduce(
    (shown, secret) => (secret.length < 4 ? shown : shown.replaceAll(secret, "********")),
    text,
  );
}
