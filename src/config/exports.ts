import type { z } from "zod";
import type { ExportLimits } from "../bulk-export/exports/export-limits.ts";
import { amount, type Edition, flag, whole } from "./fields.ts";

const positive = (most: number, fallback: number) => whole(1, most).default(fallback);

/** Settings of bulk exports. */
export const exportSettings = {
  TREADLE_EXPORT_CAPS: flag
    .optional()
    .describe("Enforce the caps on bulk exports. Always on in the cloud edition, off by default elsewhere."),
  TREADLE_EXPORT_HOURLY_CAP: positive(1_000_000, 250).describe(
    "With caps: bulk exports that a workspace may create within 60 minutes, including those of schedules.",
  ),
  TREADLE_EXPORT_SCHEDULE_CAP: positive(1_000_000, 200).describe(
    "With caps: schedules a workspace may have.",
  ),
  TREADLE_EXPORT_EXPERIMENT_CAP: positive(1_000_000, 250).describe(
    "With caps: experiments in one export of all experiments.",
  ),
  TREADLE_EXPORT_WORKSPACE_CONCURRENCY: positive(1_000, 15).describe(
    "Bulk exports of one workspace that run at once; others wait.",
  ),
  TREADLE_EXPORT_CONCURRENCY: positive(64, 2).describe(
    "Days of bulk exports this server writes at once; each takes about one processor and 300 MB.",
  ),
  TREADLE_EXPORT_TIMEOUT_HOURS: positive(8_760, 72).describe("Timeout of a bulk export."),
  TREADLE_EXPORT_RETRIES: whole(0, 1_000)
    .default(20)
    .describe("How often one day of a bulk export is retried."),
  TREADLE_EXPORT_RETRY_SECONDS: amount(0, 3_600).default(30).describe("The pause before each retry."),
};

export function exportConfigOf(
  env: z.output<z.ZodObject<typeof exportSettings>>,
  edition: Edition,
): ExportLimits {
  const enforced = edition === "cloud" || env.TREADLE_EXPORT_CAPS === true;
  const caps = {
    createdPerHour: env.TREADLE_EXPORT_HOURLY_CAP,
    schedules: env.TREADLE_EXPORT_SCHEDULE_CAP,
    experimentsPerExport: env.TREADLE_EXPORT_EXPERIMENT_CAP,
  };
  return {
    caps: enforced ? caps : null,
    runningPerWorkspace: env.TREADLE_EXPORT_WORKSPACE_CONCURRENCY,
    partitionsAtOnce: env.TREADLE_EXPORT_CONCURRENCY,
    queuedPerExport: env.TREADLE_EXPORT_CONCURRENCY * 2,
    exportTimeoutMs: env.TREADLE_EXPORT_TIMEOUT_HOURS * 3_600_000,
    partitionTimeoutMs: 4 * 3_600_000,
    retries: env.TREADLE_EXPORT_RETRIES,
    retryDelayMs: env.TREADLE_EXPORT_RETRY_SECONDS * 1000,
    storageTimeoutMs: 60_000,
    checkTimeoutMs: 20_000,
  };
}
