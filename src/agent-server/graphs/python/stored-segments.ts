import type { StoredCheckpoint } from "../../checkpoints/checkpoint.ts";
import type { Meta } from "./call-stream.ts";
import type { CarriedValues } from "./carried-values.ts";

/** A checkpoint as Python's saver takes it: places in the JSON, texts as they are stored. Carried ones have a number. */
export function storedMeta(stored: StoredCheckpoint | undefined, carried?: CarriedValues): Meta {
  if (!stored) return { found: false };
  return {
    found: true,
    threadId: stored.threadId,
    ns: stored.checkpointNs,
    id: stored.checkpointId,
    parentId: stored.parentCheckpointId,
    blobs: [...stored.blobs].map(([channel, payload]) => {
      const number = carried?.numberOf(channel, payload);
      return number === undefined ? [channel, payload.type] : [channel, payload.type, number];
    }),
    writes: stored.writes.map(({ taskId, idx, channel, payload }) => [taskId, idx, channel, payload.type]),
  };
}

export function storedSegments(stored: StoredCheckpoint | undefined, carried?: CarriedValues): string[] {
  if (!stored) return [];
  return [
    stored.structure,
    stored.metadata,
    ...[...stored.blobs]
      .filter(([channel, payload]) => carried?.numberOf(channel, payload) === undefined)
      .map(([, { text }]) => text),
    ...stored.writes.map(({ payload }) => payload.text),
  ];
}
