import { monthOfName } from "./partition.ts";
import type { Retention } from "./run-removal-store.ts";

const dayMs = 86_400_000;

/** Runs that began before this are past their time. */
export function cutoffOf(retention: Retention, now: Date): Date {
  return new Date(now.getTime() - retention.retention_days * dayMs);
}

/**
 * Whether all runs of a partition are past their time: then it is dropped whole, which costs nothing. A project
 * without an end keeps its partitions.
 */
export function isPartitionExpired(
  partition: string,
  projects: readonly string[],
  retentions: ReadonlyMap<string, Retention>,
  now: Date,
): boolean {
  const month = monthOfName(partition);
  if (!month) return false;
  const end = Date.parse(month.to);
  return projects.every((id) => {
    const retention = retentions.get(id);
    return retention !== undefined && end <= cutoffOf(retention, now).getTime();
  });
}
