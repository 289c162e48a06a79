import { randomUUID } from "node:crypto";
import type { BucketSettings, BucketSink } from "../../platform/blob/blob-store.ts";
import { AppError } from "../../platform/errors.ts";
import { microsText, parseMicros } from "../../platform/exact-time.ts";
import type { NetworkGuard } from "../../platform/network/network-guard.ts";
import type { Compression } from "../parquet/page-codec.ts";
import { checkedForEngine, engineTarget } from "./engine-target.ts";
import { formatCursor } from "./partition-cursor.ts";
import {
  type FileLimits,
  type PartitionEvents,
  type PartitionFile,
  partName,
  uploadTokenKey,
} from "./partition-task.ts";
import type { EngineWriting, FileWindow, SelectRuns } from "./run-source.ts";

export type EnginePartition = {
  /** Under which the engine knows what it writes. */
  name: string;
  selection: SelectRuns;
  compression: Compression;
  limits: FileLimits;
  bucket: BucketSettings;
  allowPrivateAddresses: boolean;
  network: Pick<NetworkGuard, "checkUrl">;
  folder: string;
  firstPart: number;
  /** Throws what is wrong with the storage where we cannot write to it either. */
  checkStorage(): Promise<void>;
};

export type EngineEvents = PartitionEvents & {
  /** So many rows of the file are written. */
  underWay(file: PartitionFile, rows: number): Promise<void>;
};

/** After every id. */
const lastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/**
 * Lets the engine write the files of a partition, one after another. False when it cannot, or when it cannot be seen what
 * it wrote: the rest is for our own writer, which goes on from the last file.
 */
export async function writeByEngine(
  engine: EngineWriting,
  partition: EnginePartition,
  events: EngineEvents,
  store: BucketSink,
  signal: AbortSignal,
): Promise<boolean> {
  const { selection, limits, compression, name } = partition;
  if (targetOf(partition, 0, "") === undefined) return false;
  const windows = await engine.cut(selection, limits.fileBytes, signal);
  let part = partition.firstPart;
  for (const { runs, ...window } of windows) {
    const token = randomUUID();
    // Our own writer is refused, too, and says so.
    const bucket = await checkedForEngine(partition.bucket, partition.network).catch(() => undefined);
    if (bucket === undefined) return false;
    const target = targetOf({ ...partition, bucket }, part, token)!;
    const key = keyOf(partition, part);
    // How many rows and bytes it will have is not known yet; without them it is never taken for written.
    const begun = { key, token, rows: 0, bytes: 0, cursor: cursorOf(window), expectedRows: runs };
    await events.intent(begun);
    const { groupBytes, groupRows } = limits;
    const file = { name, selection: { ...selection, ...window }, target, compression, groupBytes, groupRows };
    const onRows = (written: number) => events.underWay(begun, written);
    const rows = await engine.write(file, signal, onRows).catch(async (error: unknown) => {
      signal.throwIfAborted();
      if (error instanceof AppError && error.kind === "bad_gateway") await partition.checkStorage();
      throw error;
    });
    if (rows === undefined) return false;
    const written = await lookAt(store, key, token);
    if (written === "hidden") return false;
    // Its runs were removed meanwhile.
    if (rows === 0) {
      await store.remove(key);
      continue;
    }
    await events.written({ key, token, rows, bytes: written.bytes, cursor: cursorOf(window) });
    part += 1;
  }
  return true;
}

function targetOf(partition: EnginePartition, part: number, token: string) {
  const { bucket: settings, allowPrivateAddresses } = partition;
  const metadata = { [uploadTokenKey]: token };
  return engineTarget({ settings, allowPrivateAddresses, metadata, key: keyOf(partition, part) });
}

function keyOf({ folder }: EnginePartition, part: number): string {
  return `${folder}${partName(part)}`;
}

/** Everything before the end of the window. */
function cursorOf({ to }: Pick<FileWindow, "to">): string {
  return formatCursor({ startTime: microsText(parseMicros(to)! - 1n), id: lastId });
}

async function lookAt(store: BucketSink, key: string, token: string): Promise<{ bytes: number } | "hidden"> {
  const found = await store.head(key).catch((error: unknown) => {
    if (error instanceof AppError && error.code === "blob.no_permission") return "hidden" as const;
    throw error;
  });
  if (found === "hidden") return found;
  if (found?.metadata[uploadTokenKey] === token) return found;
  throw new AppError({
    code: "bulk_export.upload_damaged",
    kind: "bad_gateway",
    retryable: true,
    message: `The storage does not hold at ${key} what was written there.`,
  });
}
