import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import type { ExportStatus } from "./export.ts";
import { cancelJobs } from "./export-jobs.ts";
import { lockExport, moveExport } from "./export-store.ts";
import { endUnfinishedRuns } from "./run-store.ts";

/** Ends an export that will not complete, with everything under way for it. */
export async function endExport(
  tx: Sql,
  input: {
    exportId: string;
    status: Extract<ExportStatus, "FAILED" | "TIMEDOUT">;
    error: string;
    now: Date;
    /** The job that asks: it ends by itself. */
    exceptJob?: string;
  },
): Promise<boolean> {
  await lockExport(tx, input.exportId);
  const { exportId: id, status: to, error, now } = input;
  if (!(await moveExport(tx, { id, from: ["RUNNING", "CREATED"], to, now, error }))) return false;
  const runStatus = input.status === "TIMEDOUT" ? "TIMEDOUT" : "CANCELLED";
  const jobs = await endUnfinishedRuns(tx, { exportId: id, status: runStatus, now });
  await cancelJobs(
    tx,
    jobs.filter((job) => job !== input.exceptJob),
  );
  return true;
}

export function failExport(
  options: { database: Database; clock: Clock },
  exportId: string,
  error: string,
): Promise<boolean> {
  return options.database.transaction((tx) =>
    endExport(tx, { exportId, status: "FAILED", error, now: options.clock.now() }),
  );
}
