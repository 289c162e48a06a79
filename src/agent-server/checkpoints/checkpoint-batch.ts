import { type CheckpointInput, type Fence, storedName, type WritesInput } from "./checkpoint.ts";

export type CheckpointItem =
  | {
      kind: "checkpoint";
      fence: Fence | undefined;
      input: CheckpointInput;
      /** The same without additions, where `input` has some. */
      whole?: CheckpointInput;
    }
  | { kind: "writes"; fence: Fence | undefined; input: WritesInput };

type CheckpointRow = [string, string, string, string | null, number | null, string, string, string, string];
type BlobRow = [string, string, string, string, number | null, string, string | Buffer, string | null];
type WriteRow = [string, string, string, string, number, string, number | null, string, string | Buffer];

/** The parameters of the one statement that writes a batch, and which fence each item depends on. */
export type CheckpointBatch = { parameters: Cell[][]; fenceOf: (number | null)[] };
type Cell = string | Buffer | number | null;

/**
 * Turns items into columns. `on conflict do update` may not meet a row twice in one statement, so equal
 * keys are merged here by the rule the table has: the last checkpoint and special write win, the first of
 * anything else. Equal keys under different fences are left alone, since one of them may be refused: the
 * statement then fails and the batcher repeats its items one by one.
 */
export function buildBatch(items: readonly CheckpointItem[]): CheckpointBatch {
  const fences = new Map<string, number>();
  const runIds: string[] = [];
  const attempts: number[] = [];
  const fenceIndex = (fence: Fence | undefined): number | null => {
    if (fence === undefined) return null;
    const key = `${fence.runId}/${fence.attempt}`;
    let index = fences.get(key);
    if (index === undefined) {
      runIds.push(fence.runId);
      attempts.push(fence.attempt);
      index = runIds.length;
      fences.set(key, index);
    }
    return index;
  };

  const checkpoints = new Map<string, CheckpointRow>();
  const blobs = new Map<string, BlobRow>();
  const writes = new Map<string, WriteRow>();
  const fenceOf = items.map((item) => {
    const fence = fenceIndex(item.fence);
    if (item.kind === "checkpoint") addCheckpoint(item.input, fence, checkpoints, blobs);
    else addWrites(item.input, fence, writes);
    return fence;
  });
  const parameters = [
    runIds,
    attempts,
    ...columns([...checkpoints.values()], 9),
    ...columns([...blobs.values()], 8),
    ...columns([...writes.values()], 9),
  ];
  return { parameters, fenceOf };
}

function addCheckpoint(
  input: CheckpointInput,
  fence: number | null,
  checkpoints: Map<string, CheckpointRow>,
  blobs: Map<string, BlobRow>,
): void {
  const { threadId, checkpointId } = input;
  const ns = storedName(input.checkpointNs);
  checkpoints.set(keyOf(fence, threadId, ns, checkpointId), [
    threadId,
    ns,
    checkpointId,
    input.parentCheckpointId,
    fence,
    input.structure,
    input.metadata,
    arrayLiteral(input.blobRefs.map((ref) => storedName(ref.channel))),
    arrayLiteral(input.blobRefs.map((ref) => ref.version)),
  ]);
  for (const { channel, version, payload, base = null } of input.blobs) {
    const name = storedName(channel);
    const key = keyOf(fence, threadId, ns, name, version);
    if (!blobs.has(key))
      blobs.set(key, [threadId, ns, name, version, fence, payload.type, payload.text, base]);
  }
}

function addWrites(input: WritesInput, fence: number | null, writes: Map<string, WriteRow>): void {
  const { threadId, checkpointId, taskId } = input;
  const ns = storedName(input.checkpointNs);
  for (const { idx, channel, payload } of input.writes) {
    const key = keyOf(fence, threadId, ns, checkpointId, taskId, idx);
    if (idx >= 0 && writes.has(key)) continue;
    writes.set(key, [
      threadId,
      ns,
      checkpointId,
      taskId,
      idx,
      storedName(channel),
      fence,
      payload.type,
      payload.text,
    ]);
  }
}

function keyOf(...parts: (string | number | null)[]): string {
  return parts.join("\0");
}

function columns(rows: Cell[][], width: number): Cell[][] {
  return Array.from({ length: width }, (_, column) => rows.map((row) => row[column] ?? null));
}

/** A text[] as text: the driver would make a two-dimensional array of a list of lists, which unnest flattens. */
export function arrayLiteral(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`).join(",")}}`;
}

/** Without additions: what they add to is gone. */
export function wholeItem(item: CheckpointItem): CheckpointItem {
  return item.kind === "checkpoint" && item.whole ? { ...item, input: item.whole } : item;
}

/** Items of one key are never written by two lanes at once: of two special writes the later must win. */
export function itemKey({ kind, fence, input }: CheckpointItem): string {
  const owner = fence === undefined ? "" : `${fence.runId}/${fence.attempt}`;
  const task = kind === "writes" ? input.taskId : null;
  return keyOf(kind, owner, input.threadId, input.checkpointNs, input.checkpointId, task);
}

/** Two waiting items of one key as one; rows that repeat are sorted out when the batch is built. */
export function mergeItems(older: CheckpointItem, newer: CheckpointItem): CheckpointItem {
  if (older.kind === "writes" && newer.kind === "writes") {
    return { ...newer, input: { ...newer.input, writes: [...older.input.writes, ...newer.input.writes] } };
  }
  if (older.kind === "checkpoint" && newer.kind === "checkpoint") {
    const blobs = [...older.input.blobs, ...newer.input.blobs];
    const merged = { ...newer, input: { ...newer.input, blobs } };
    if (!older.whole && !newer.whole) return merged;
    const whole = [older, newer].flatMap((item) => (item.whole ?? item.input).blobs);
    return { ...merged, whole: { ...newer.input, blobs: whole } };
  }
  throw new Error(`A ${older.kind} item and a ${newer.kind} item have one key, which cannot be.`);
}

/** Of what it holds while it waits: also the whole of a list of which it may only write an addition. */
export function itemBytes(item: CheckpointItem): number {
  if (item.kind === "writes")
    return item.input.writes.reduce((sum, write) => sum + write.payload.text.length, 0);
  const { structure, metadata, blobs } = item.whole ?? item.input;
  return blobs.reduce((sum, blob) => sum + blob.payload.text.length, structure.length + metadata.length);
}
