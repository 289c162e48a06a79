import type { Sql } from "../../platform/db/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { ExportCaps } from "./export-limits.ts";
import { countCreatedSince, countSchedules } from "./export-store.ts";

const hourMs = 3_600_000;
/** A schedule's slot frees when a user cancels one; there is no better guess. */
const scheduleRetrySeconds = 60;

/** Null when another export may be created, else the seconds until one may. Asked under the workspace's lock. */
export async function hourlyCapWait(
  tx: Sql,
  input: { workspaceId: string; caps: ExportCaps; now: Date },
): Promise<number | null> {
  const { createdPerHour } = input.caps;
  const since = new Date(input.now.getTime() - hourMs);
  const found = await countCreatedSince(tx, { workspaceId: input.workspaceId, since, cap: createdPerHour });
  if (found.count < createdPerHour) return null;
  const freesAt = (found.frees_at ?? input.now).getTime() + hourMs;
  return Math.max(1, Math.ceil((freesAt - input.now.getTime()) / 1000));
}

export async function requireHourlyRoom(
  tx: Sql,
  input: { workspaceId: string; caps: ExportCaps; now: Date },
): Promise<void> {
  const seconds = await hourlyCapWait(tx, input);
  if (seconds === null) return;
  throw new AppError({
    code: "bulk_export.hourly_cap",
    kind: "rate_limited",
    message: `This workspace has created ${input.caps.createdPerHour} bulk exports within 60 minutes, which is the limit. Try again in ${seconds} seconds.`,
    headers: { "retry-after": String(seconds) },
  });
}

export async function requireScheduleRoom(
  tx: Sql,
  input: { workspaceId: string; caps: ExportCaps },
): Promise<void> {
  if ((await countSchedules(tx, input.workspaceId)) < input.caps.schedules) return;
  throw new AppError({
    code: "bulk_export.schedule_cap",
    kind: "rate_limited",
    message: `This workspace has ${input.caps.schedules} scheduled bulk exports, which is the limit. Cancel one, then try again.`,
    headers: { "retry-after": String(scheduleRetrySeconds) },
  });
}
