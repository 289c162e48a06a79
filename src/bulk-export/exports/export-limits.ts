/** What one installation allows its exports. */
export type ExportLimits = {
  /** Null: not enforced. */
  caps: ExportCaps | null;
  /** Exports of one workspace that run at once; the rest wait in CREATED. */
  runningPerWorkspace: number;
  /** Partitions of all exports this process writes at once. */
  partitionsAtOnce: number;
  /** Queued partitions per export: the next ones wait, so that a long export does not delay a short one. */
  queuedPerExport: number;
  /** From the start of an export to TIMEDOUT. */
  exportTimeoutMs: number;
  /** Of one attempt at a partition. */
  partitionTimeoutMs: number;
  retries: number;
  retryDelayMs: number;
  /** The longest silence of the storage within one request. */
  storageTimeoutMs: number;
  /** For trying out a destination. */
  checkTimeoutMs: number;
};

export type ExportCaps = {
  createdPerHour: number;
  schedules: number;
  experimentsPerExport: number;
};

export const defaultExportLimits: ExportLimits = {
  caps: null,
  runningPerWorkspace: 15,
  partitionsAtOnce: 2,
  queuedPerExport: 4,
  exportTimeoutMs: 72 * 3_600_000,
  partitionTimeoutMs: 4 * 3_600_000,
  retries: 20,
  retryDelayMs: 30_000,
  storageTimeoutMs: 60_000,
  checkTimeoutMs: 20_000,
};
