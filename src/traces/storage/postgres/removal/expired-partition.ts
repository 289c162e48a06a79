import { cutoffOf, type Retention } from "../../../runs/retention.ts";
import { monthOfName } from "../partitions/partition.ts";

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
