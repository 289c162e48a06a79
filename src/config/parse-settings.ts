import type { z } from "zod";
import { AppError } from "../platform/errors.ts";

export const secretSettings: ReadonlySet<string> = new Set([
  "TREADLE_API_KEY",
  "TREADLE_PLATFORM_KEY",
  "TREADLE_SECRET_KEY",
  "TREADLE_PREVIOUS_SECRET_KEY",
  "TREADLE_WEBHOOK_SECRET",
  "TREADLE_OIDC_CLIENT_SECRET",
  "TREADLE_SMTP_URL",
  "TREADLE_TRACES_URL",
  "TREADLE_BLOB_SECRET_ACCESS_KEY",
  "TREADLE_BLOB_SESSION_TOKEN",
  "TREADLE_INSTANCE_SECRET",
]);

/** Checks the settings of a schema; a bad value names the variable and what it must be. Empty means unset. */
export function parseSettings<Schema extends z.ZodObject>(
  schema: Schema,
  environment: NodeJS.ProcessEnv,
): z.output<Schema> {
  const given = Object.fromEntries(
    Object.keys(schema.shape)
      .map((name) => [name, environment[name]] as const)
      .filter(([, value]) => value !== undefined && value !== ""),
  );
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    const value = secretSettings.has(name) ? "" : ` (it is "${maskSetting(name, given[name] ?? "")}")`;
    return `${name}: ${issue.message}${value}`;
  });
  throw invalidSettings(`The environment has settings Treadle cannot use:\n  ${lines.join("\n  ")}`);
}

export function invalidSettings(message: string): AppError {
  return new AppError({ code: "config.invalid", kind: "invalid", message });
}

export function maskSetting(name: string, value: string): string {
  if (value === "") return "";
  if (secretSettings.has(name)) return "********";
  if (/^(DATABASE_UR[LI]|POSTGRES_URI(_CUSTOM)?)$/.test(name)) {
    return value
      .replace(/(\/\/[^:/@]*):.*@/, "$1:********@")
      .replace(/([?&](?:ssl)?password=)[^&]*/gi, "$1********");
  }
  return value;
}
