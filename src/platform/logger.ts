import { type Logger, pino } from "pino";

export type { Logger };

export type LogOptions = { level: string; pretty?: boolean; destination?: NodeJS.WritableStream };

/**
 * JSON lines on stderr. Fields named like secrets are removed here as a last line of defence; the rule is not to log
 * them in the first place.
 */
export function createLogger(options: LogOptions): Logger {
  return pino(
    {
      level: options.level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: secretPaths,
        censor: "********",
      },
    },
    options.destination ?? process.stderr,
  );
}

const secretNames = [
  "authorization",
  "password",
  "secret",
  "secrets",
  "token",
  "access_token",
  "refresh_token",
  "client_secret",
  "api_key",
  "apiKey",
  "x-api-key",
  "cookie",
  "credentials",
];
const secretPaths = secretNames.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.*["${name}"]`]);
