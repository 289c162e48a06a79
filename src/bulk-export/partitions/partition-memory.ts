import { BlockMemory } from "../parquet/block-memory.ts";
import { PageMemory } from "../parquet/page-memory.ts";
import type { GroupMemory } from "../parquet/row-group.ts";
import type { FileLimits } from "./partition-task.ts";

/** Large enough that little is left over at the end of one, a few to a row group. */
const bodyBlockBytes = 4 * 1024 * 1024;
const mostBodyBlocks = 16;
/** As many as are on their way at once, and the one being filled. */
const mostParts = 5;

/** What one thread writes partitions in, one after another. */
export type PartitionMemory = GroupMemory & { parts: BlockMemory };

export function createPartitionMemory(limits: FileLimits): PartitionMemory {
  return {
    pages: new PageMemory(limits.pageBytes),
    bodies: new BlockMemory(bodyBlockBytes, mostBodyBlocks),
    parts: new BlockMemory(limits.partBytes, mostParts),
  };
}
