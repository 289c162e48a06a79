import { z } from "zod";

/** The kinds of values that settings have; each is written once. */
export const flag = z
  .enum(["1", "0", "true", "false", "yes", "no"])
  .transform((text) => text === "1" || text === "true" || text === "yes");

/** Of seconds, minutes or hours, which may be broken. */
export const amount = (least: number, most: number) => z.coerce.number().min(least).max(most);
export const whole = (least: number, most: number) => amount(least, most).int();
export const port = whole(0, 65_535);

export const text = z.string().min(1);
export const list = z.string().default("");
export const secret = z.string().min(16, "must have 16 or more characters");
export const url = z.url("must be a URL");
export const databaseUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, "must start with postgres:// or postgresql://");

export const edition = z.enum(["self-hosted", "cloud"]).default("self-hosted");
export type Edition = z.output<typeof edition>;
export const agentAuth = z.enum(["auto", "required", "open"]).default("auto");
export const logLevels = ["trace", "debug", "info", "warn", "error", "silent"] as const;

export function commaList(value: string): string[] {
  return value
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
}
