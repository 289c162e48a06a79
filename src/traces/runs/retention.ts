/** How long the runs of a project are kept. */
export type Retention = { workspace_id: string; project_id: string; retention_days: number };

const dayMs = 86_400_000;

/** Runs that began before this are past their time. */
export function cutoffOf(retention: Retention, now: Date): Date {
  return new Date(now.getTime() - retention.retention_days * dayMs);
}
