import type {
  BaseCheckpointSaver,
  Checkpoint,
  CheckpointMetadata,
  CheckpointPendingWrite,
  CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import { AppError } from "../../../platform/errors.ts";
import {
  type CheckpointInput,
  isInlineValue,
  type NewPayload,
  type Payload,
  type StoredCheckpoint,
  tasksChannel,
} from "../../checkpoints/checkpoint.ts";
import type { CheckpointStore } from "../../checkpoints/checkpoint-store.ts";
import type { Codec } from "./message-codec.ts";

export type SaverConfig = Parameters<BaseCheckpointSaver["getTuple"]>[0];
export type PutArguments = Parameters<BaseCheckpointSaver["put"]>;

export type Place = {
  threadId: string | undefined;
  checkpointNs: string | undefined;
  checkpointId: string | undefined;
};

export function placeOf(config: SaverConfig): Place {
  const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
  return {
    threadId: thread_id === undefined || thread_id === null ? undefined : String(thread_id),
    checkpointNs: checkpoint_ns,
    checkpointId: checkpoint_id || undefined,
  };
}

export function configOf(threadId: string, checkpointNs: string, checkpointId: string): SaverConfig {
  return {
    configurable: { thread_id: threadId, checkpoint_ns: checkpointNs, checkpoint_id: checkpointId },
  };
}

export function requirePart(value: string | undefined, name: string): string {
  if (value !== undefined && value !== "") return value;
  throw new AppError({
    code: "checkpoint.config_incomplete",
    kind: "invalid",
    message: `A checkpoint cannot be saved: the config has no configurable.${name}. Pass it with the run.`,
  });
}

type Pending<T> = Omit<T, "payload"> & { payload: Payload | Promise<Payload> };

/** Encoding has begun for all of them before this waits: what a node changes afterwards is not in it. */
export async function settleAll<T extends { payload: NewPayload }>(items: Pending<T>[]): Promise<T[]> {
  for (const item of items) if (item.payload instanceof Promise) item.payload = await item.payload;
  return items as unknown as T[];
}

/** What of a checkpoint is stored beside its place. Everything is encoded before this waits for the first of it. */
export async function encodeCheckpoint(
  codec: Codec,
  checkpoint: Checkpoint,
  metadata: CheckpointMetadata,
  newVersions: PutArguments[3],
  parentId: string | undefined,
): Promise<Omit<CheckpointInput, "threadId" | "checkpointNs" | "checkpointId">> {
  // A first checkpoint has nothing to inherit, so what is not new in it is not part of it.
  const inherits = parentId !== undefined || metadata.source === "fork";
  const { channel_values, id: _id, ...structure } = checkpoint;
  const inline: Record<string, unknown> = {};
  const blobRefs: CheckpointInput["blobRefs"] = [];
  const blobs: Pending<CheckpointInput["blobs"][number]>[] = [];
  for (const [channel, value] of Object.entries(channel_values ?? {})) {
    const isNew = Object.hasOwn(newVersions ?? {}, channel);
    const version = isNew ? newVersions[channel] : checkpoint.channel_versions[channel];
    if (version === undefined || !(isNew || inherits)) continue;
    if (isInlineValue(value)) {
      inline[channel] = value;
      continue;
    }
    const ref = { channel, version: String(version) };
    blobRefs.push(ref);
    if (isNew) blobs.push({ ...ref, payload: codec.encode(value) });
  }
  const structureText = codec.encode({ ...structure, inline });
  const metadataText = codec.encode(metadata);
  return {
    parentCheckpointId: parentId ?? null,
    structure: (await structureText).text,
    metadata: (await metadataText).text,
    blobRefs,
    blobs: await settleAll(blobs),
  };
}

type StoredStructure = Omit<Checkpoint, "id" | "channel_values"> & { inline: Record<string, unknown> };

/** `revived` lets checkpoints that share a value share the object: reading 100 of them revives it once. */
export async function readTuple(
  store: CheckpointStore,
  codec: Codec,
  stored: StoredCheckpoint,
  revived: Map<Payload, unknown>,
): Promise<CheckpointTuple> {
  const { threadId, checkpointNs, checkpointId, parentCheckpointId } = stored;
  const { inline, ...structure } = (await codec.decode({
    type: "json",
    text: stored.structure,
  })) as StoredStructure;
  const channelValues: Record<string, unknown> = { ...inline };
  for (const [channel, payload] of stored.blobs) {
    if (!revived.has(payload)) revived.set(payload, await codec.decode(payload));
    channelValues[channel] = revived.get(payload);
  }
  const checkpoint: Checkpoint = { ...structure, id: checkpointId, channel_values: channelValues };
  if (checkpoint.v < 4 && parentCheckpointId !== null)
    await restorePendingSends(store, codec, stored, checkpoint);
  const pendingWrites: CheckpointPendingWrite[] = [];
  for (const write of stored.writes) {
    pendingWrites.push([write.taskId, write.channel, await codec.decode(write.payload)]);
  }
  return {
    config: configOf(threadId, checkpointNs, checkpointId),
    checkpoint,
    metadata: (await codec.decode({ type: "json", text: stored.metadata })) as CheckpointMetadata,
    ...(parentCheckpointId === null
      ? {}
      : { parentConfig: configOf(threadId, checkpointNs, parentCheckpointId) }),
    pendingWrites,
  };
}

/** Before format 4 the sends waiting for the next step were kept only as writes of the parent. */
async function restorePendingSends(
  store: CheckpointStore,
  codec: Codec,
  stored: StoredCheckpoint,
  checkpoint: Checkpoint,
): Promise<void> {
  const { threadId, checkpointNs, parentCheckpointId } = stored;
  const parent = { threadId, checkpointNs, checkpointId: parentCheckpointId! };
  const payloads = await store.channelWrites(parent, tasksChannel);
  const sends = await Promise.all(payloads.map((payload) => codec.decode(payload)));
  const versions = Object.values(checkpoint.channel_versions).map(Number);
  checkpoint.channel_values[tasksChannel] = sends;
  checkpoint.channel_versions[tasksChannel] = versions.length === 0 ? 1 : Math.max(...versions);
}
