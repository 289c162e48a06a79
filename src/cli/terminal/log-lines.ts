import { Writable } from "node:stream";
import type { Output } from "./output.ts";

const levelNames: Record<number, string> = {
  10: "trace",
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
  60: "fatal",
};

/** The log for a person at a terminal: the same entries, one readable line each. Pipes and files get JSON. */
export function createLogLines(target: NodeJS.WritableStream, paint: Output["paint"]): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      for (const line of String(chunk).split("\n")) {
        if (line !== "") target.write(`${formatLogLine(line, paint)}\n`);
      }
      done();
    },
  });
}

export function formatLogLine(line: string, paint: Output["paint"]): string {
  const entry = parseEntry(line);
  if (entry === null) return line;
  const { level, time, msg, err, ...fields } = entry;
  const name = levelNames[Number(level)] ?? String(level);
  const problem = describeProblem(err);
  const rest = Object.entries(fields).map(([key, value]) => `${key}=${formatValue(value)}`);
  const shown = Number(level) >= 50 ? paint("red", name) : Number(level) >= 40 ? paint("yellow", name) : name;
  return [paint("dim", String(time).slice(11, 19)), shown, msg, problem, paint("dim", rest.join(" "))]
    .filter((part) => part !== undefined && part !== "")
    .join(" ");
}

function parseEntry(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    // Not one of ours, for example a warning of Node itself: shown as it is.
    return null;
  }
}

function describeProblem(err: unknown): string | undefined {
  if (typeof err !== "object" || err === null || !("message" in err)) return undefined;
  return "stack" in err ? `\n${String(err.stack)}\n` : `(${String(err.message)})`;
}

function formatValue(value: unknown): string {
  return typeof value === "string" && !/\s/.test(value) ? value : JSON.stringify(value);
}
