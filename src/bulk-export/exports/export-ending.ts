import type { Clock } from "../../platform/clock.ts";
import type { Database, Sql } from "../../platform/db/database.ts";
import { AppError, type ErrorCode, errorMessage } from "../../platform/errors.ts";
import type { ExportStatus } from "../partitions/export-status.ts";
import { endUnfinishedPartitions } from "../partitions/partition-store.ts";
import type { ExportFailure } from "./export.ts";
import { cancelJobs } from "./export-jobs.ts";
import { lockExport, moveExport } from "./export-store.ts";

/** Ends an export that will not complete, with all its active work. */
export async function endExport(
  tx: Sql,
  input: {
    exportId: string;
    status: Extract<ExportStatus, "FAILED" | "TIMEDOUT">;
    failure: ExportFailure;
    now: Date;
    /** The calling job: it ends on its own. */
    exceptJob?: string;
  },
): Promise<boolean> {
  await lockExport(tx, input.exportId);
  const { exportId: id, status: to, failure, now } = input;
  if (!(await moveExport(tx, { id, from: ["RUNNING", "CREATED"], to, now, failure }))) return false;
  const partitionStatus = input.status === "TIMEDOUT" ? "TIMEDOUT" : "CANCELLED";
  const jobs = await endUnfinishedPartitions(tx, { exportId: id, status: partitionStatus, now });
  await cancelJobs(
    tx,
    jobs.filter((job) => job !== input.exceptJob),
  );
  return true;
}

export function failExport(
  options: { database: Database; clock: Clock },
  exportId: string,
  error: unknown,
): Promise<boolean> {
  const failure = { code: failureCode(error), message: errorMessage(error) };
  return options.database.transaction((tx) =>
    endExport(tx, { exportId, status: "FAILED", failure, now: options.clock.now() }),
  );
}

/** A code for programs that react to the failure; an error that is not an AppError is a defect. */
export function failureCode(error: unknown): ErrorCode {
  return error instanceof AppError ? error.code : "bulk_export.defect";
}
