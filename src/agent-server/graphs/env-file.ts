import { parseEnv } from "node:util";
import type { ProjectFile } from "./project-config.ts";

export function parseEnvFile(source: string): Record<string, string> {
  const entries = Object.entries(parseEnv(source.replace(/^\uFEFF/, "")));
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** What the `env` key asks for, before any file is read. */
export type EnvironmentRequest =
  | { kind: "none" }
  | { kind: "file"; path: string }
  | { kind: "values"; values: Record<string, string>; required: string[] };

/** A list holds names that must be set where the server runs, or `NAME=value`. */
export function requestedEnvironment(env: ProjectFile["env"]): EnvironmentRequest {
  if (env === null || env === undefined) return { kind: "none" };
  if (typeof env === "string") return { kind: "file", path: env };
  if (!Array.isArray(env)) {
    const values = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]));
    return { kind: "values", values, required: [] };
  }
  const values: Record<string, string> = {};
  const required: string[] = [];
  for (const entry of env) {
    const equals = entry.indexOf("=");
    if (equals > 0) values[entry.slice(0, equals)] = entry.slice(equals + 1);
    else required.push(entry);
  }
  return { kind: "values", values, required };
}

/**
 * What to add to the environment: what is already set wins, because the operator's secrets must not be replaced by a
 * file that came with the source.
 */
export function environmentAdditions(
  wanted: Record<string, string>,
  present: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(wanted).filter(([name]) => present[name] === undefined));
}
