import type { StoredCheckpoint } from "../../checkpoints/checkpoint.ts";
import type { Meta } from "./call-stream.ts";

/** A checkpoint as Python's saver takes it: places in the JSON, texts as they are stored. */
export function storedMeta(stored: StoredCheckpoint | undefined): Meta {
  if (!stored) return { found: false };
  return {
    found: true,
    threadId: stored.threadId,
    ns: stored.checkpointNs,
    id: stored.checkpointId,
    parentId: stored.parentCheckpointId,
    blobs: [...stored.blobs].map(([channel, { type }]) => [channel, type]),
    writes: stored.writes.map(({ taskId, idx, channel, payload }) => [taskId, idx, channel, payload.type]),
  };
}

export function storedSegments(stored: StoredCheckpoint | undefined): string[] {
  if (!stored) return [];
  return [
    stored.structure,
    stored.metadata,
    ...[...stored.blobs.values()].map(({ text }) => text),
    ...stored.writes.map(({ payload }) => payload.text),
  ];
}
