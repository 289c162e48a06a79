import { z } from "zod";
import type { Caller } from "../../platform/http/access/caller.ts";
import { id } from "../wire/wire-fields.ts";
import { type LogKind, type LogRow, logLevels, logOrigins } from "./log.ts";
import type { LogService } from "./log-service.ts";

export const order = z.enum(["asc", "desc"]).default("asc");
export const level = z
  .string()
  .transform((text) => text.toUpperCase())
  .pipe(z.enum(logLevels))
  .optional();
/** A time as text or as milliseconds since 1970; clients send both. */
export const time = z
  .union([z.number(), z.string()])
  .transform((value, context) => {
    const number = typeof value === "number" || /^\d{12,}$/.test(value) ? Number(value) : Number.NaN;
    const at = new Date(Number.isNaN(number) ? value : number);
    if (!Number.isNaN(at.getTime())) return at;
    context.addIssue({ code: "custom", message: "must be a date-time" });
    return z.NEVER;
  })
  .nullish();
export const offset = z
  .union([
    z.number().int().min(0),
    z.string().regex(/^\d{1,15}$/, "must be a next_offset from an earlier page"),
  ])
  .transform(Number)
  .nullish();

const line = z
  .object({
    id: z.string(),
    timestamp: z.string(),
    level: z.string(),
    message: z.string(),
    revision_id: id,
    run_id: z.string().nullable(),
    origin: z
      .enum(logOrigins)
      .nullable()
      .describe("Of a build log: the platform about its own steps, or a command of the project."),
  })
  .meta({ id: "LogLine" });
const incomplete = z
  .enum(["storage_unavailable"])
  .optional()
  .describe(
    "There when the page ends early, because the lines after it are in the platform's storage and it cannot be reached. Ask for them later, from the place the page names.",
  );
export const logsAnswer = z.object({
  logs: z.array(line),
  next_offset: z.string().nullable(),
  incomplete,
});
export const itemsAnswer = z.object({
  items: z.array(line),
  next_cursor: z.string().nullable(),
  incomplete,
});

export type AskedPlace = { deploymentId: string; revisionId?: string; kind: LogKind };

export type LogRequest = {
  order: "asc" | "desc";
  limit: number;
  offset?: number | null | undefined;
  level?: string | null | undefined;
  query?: string | null | undefined;
  start_time?: Date | null | undefined;
  end_time?: Date | null | undefined;
  run_id?: string | undefined;
};

/** What every way to ask for lines comes down to. */
export async function readLines(
  service: LogService,
  { caller, request }: { caller: Caller; request: Request },
  place: AskedPlace,
  asked: LogRequest,
) {
  const query = {
    ...place,
    order: asked.order,
    limit: asked.limit,
    after: asked.offset ?? undefined,
    level: asked.level ?? undefined,
    text: asked.query ?? undefined,
    startTime: asked.start_time ?? undefined,
    endTime: asked.end_time ?? undefined,
    runId: asked.run_id,
  };
  const { rows, isCut } = await service.read(caller, query, request.signal);
  // Also on a short page: more may come, and the place to go on from is known.
  const last = rows.at(-1)?.id ?? asked.offset ?? null;
  return {
    lines: rows.map(toLogWire),
    next: last === null ? null : String(last),
    full: rows.length === asked.limit || isCut,
    ...(isCut ? { incomplete: "storage_unavailable" as const } : {}),
  };
}

export function placeOf(given: { deployment_id: string; revision_id?: string | undefined }) {
  const revision = given.revision_id === undefined ? {} : { revisionId: given.revision_id };
  return { deploymentId: given.deployment_id, ...revision };
}

export function toLogWire(row: LogRow): z.input<typeof line> {
  return {
    id: String(row.id),
    timestamp: row.at.toISOString(),
    level: row.level,
    message: row.message,
    revision_id: row.revision_id,
    run_id: row.run_id,
    origin: row.origin,
  };
}
