export const exportStatuses = ["CREATED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"] as const;
export type ExportStatus = (typeof exportStatuses)[number];

/** Every move an export or one of its partitions may make. A schedule only ever goes from CREATED to CANCELLED. */
export const exportTransitions: Record<ExportStatus, readonly ExportStatus[]> = {
  CREATED: ["RUNNING", "CANCELLED", "FAILED", "TIMEDOUT"],
  RUNNING: ["COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"],
  COMPLETED: [],
  FAILED: [],
  CANCELLED: [],
  TIMEDOUT: [],
};

export function isFinished(status: ExportStatus): boolean {
  return exportTransitions[status].length === 0;
}
