import {
  type CheckpointQuery,
  type CheckpointRequest,
  type Payload,
  pythonType,
  pythonView,
  type StoredCheckpoint,
} from "./checkpoint.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";
import { toWire, type Wire } from "./message-wire.ts";

/** A checkpoint as wire JSON, read without the graph and without building its messages. */
export type WireCheckpoint = {
  threadId: string;
  checkpointNs: string;
  checkpointId: string;
  parentCheckpointId: string | null;
  createdAt: string;
  metadata: Wire;
  /** Every channel, also the graph's internal ones; the caller picks those the graph shows. */
  channelValues: Record<string, Wire>;
  pendingWrites: { taskId: string; channel: string; value: Wire }[];
};

export async function readCheckpointValues(
  store: CheckpointStore,
  request: CheckpointRequest,
): Promise<WireCheckpoint | undefined> {
  const stored = await store.get(request);
  return stored === undefined ? undefined : wireCheckpoint(stored, new Map());
}

/** Newest first. Checkpoints of one page that share a value share the converted object: do not change it. */
export async function* listCheckpointValues(
  store: CheckpointStore,
  query: CheckpointQuery,
): AsyncGenerator<WireCheckpoint> {
  for await (const page of store.list(query)) {
    const converted = new Map<Payload, Wire>();
    for (const stored of page) yield wireCheckpoint(stored, converted);
  }
}

function wireCheckpoint(stored: StoredCheckpoint, converted: Map<Payload, Wire>): WireCheckpoint {
  const structure = JSON.parse(stored.structure) as { ts: string; inline: Record<string, Wire> };
  const channelValues: Record<string, Wire> = { ...structure.inline };
  for (const [channel, payload] of stored.blobs) {
    let value = converted.get(payload);
    if (value === undefined) {
      value = wirePayload(payload);
      converted.set(payload, value);
    }
    channelValues[channel] = value;
  }
  return {
    threadId: stored.threadId,
    checkpointNs: stored.checkpointNs,
    checkpointId: stored.checkpointId,
    parentCheckpointId: stored.parentCheckpointId,
    createdAt: structure.ts,
    metadata: toWire(JSON.parse(stored.metadata)),
    channelValues,
    pendingWrites: stored.writes.map(({ taskId, channel, payload }) => ({
      taskId,
      channel,
      value: wirePayload(payload),
    })),
  };
}

/** Bytes travel as the base64 text they are stored as. */
function wirePayload(payload: Payload): Wire {
  if (payload.type === "bytes") return payload.text;
  return toWire(payload.type === pythonType ? pythonView(payload.text) : JSON.parse(payload.text));
}
