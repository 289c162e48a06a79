/** The attempt of a run on whose behalf something is written. It writes only while it holds the run. */
export type Fence = { runId: string; attempt: number };

/** A serialized value: JSON text, or base64 when `type` is `bytes`. */
export type Payload = { type: string; text: string; grown?: Grown };

/** A list that is stored as what it adds to another: `added` begins at the closing bracket of that one. */
export type Grown = { base: StoredValue; added: string };

export type StoredValue = Payload & { version: string };

/** A payload to be stored. A large text that this process does not read stays a buffer. */
export type NewPayload = { type: string; text: string | Buffer };

/**
 * A value that only Python has (a class of the project, a date, a number beyond 2^53): what it looks like as JSON, and
 * what Python makes it of again. Everybody else reads what it looks like.
 */
export const pythonType = "python";

export function pythonView(text: string): unknown {
  return (JSON.parse(text) as { view: unknown }).view;
}

export type BlobRef = { channel: string; version: string };

export type CheckpointInput = {
  threadId: string;
  checkpointNs: string;
  checkpointId: string;
  parentCheckpointId: string | null;
  structure: string;
  metadata: string;
  /** Every channel whose value is a blob, also those an earlier checkpoint stored. */
  blobRefs: BlobRef[];
  /** The values that are new with this checkpoint; with `base`, the payload is what it adds to that version. */
  blobs: (BlobRef & { payload: NewPayload; base?: string })[];
};

export type WriteInput = { idx: number; channel: string; payload: NewPayload };

export type WritesInput = {
  threadId: string;
  checkpointNs: string;
  checkpointId: string;
  taskId: string;
  writes: WriteInput[];
};

export type StoredWrite = { taskId: string; idx: number; channel: string; payload: Payload };

export type StoredCheckpoint = {
  threadId: string;
  checkpointNs: string;
  checkpointId: string;
  parentCheckpointId: string | null;
  structure: string;
  metadata: string;
  /** By channel. Checkpoints of one answer that share a value share the Payload object as well. */
  blobs: Map<string, StoredValue>;
  writes: StoredWrite[];
};

/** `checkpointId` left out: the latest. */
export type CheckpointRequest = { threadId: string; checkpointNs: string; checkpointId?: string | undefined };

/** A thread as readers of its checkpoints need it. */
export type OwnThread = {
  threadId: string;
  /** The one that last ran on it. */
  graphId: string | undefined;
};

export type CheckpointQuery = {
  threadId?: string;
  checkpointNs?: string;
  checkpointId?: string;
  /** Only checkpoints whose id sorts before this one. */
  before?: string;
  /** Metadata the checkpoint must contain. */
  filter?: Record<string, unknown>;
  limit?: number;
};

export const tasksChannel = "__pregel_tasks";

/** Under this task the graph library keeps writes that come from a command, not from a node. */
export const noTaskId = "00000000-0000-0000-0000-000000000000";

/** Writes that replace each other have fixed places below zero; the graph library counts on them. */
const specialWriteIndex: Readonly<Record<string, number>> = {
  __error__: -1,
  __scheduled__: -2,
  __interrupt__: -3,
  __resume__: -4,
};

export function writeIndex(channel: string, position: number): number {
  return Object.hasOwn(specialWriteIndex, channel) ? specialWriteIndex[channel]! : position;
}

const longestInlineText = 256;

/** Small primitives live in the checkpoint's own row: a blob row each would cost more than it saves. */
export function isInlineValue(value: unknown): boolean {
  if (typeof value === "string") return value.length <= longestInlineText;
  return value === null || typeof value === "boolean" || Number.isFinite(value);
}

/**
 * Versions count up and carry a random fraction: two branches forked from one checkpoint give the same
 * channel different values, and blobs are found by version.
 */
export function nextVersion(current: number | undefined, random: number): number {
  return Math.floor(current ?? 0) + 1 + Math.floor(random * 1e9) / 1e9;
}

/** Names come from user graphs and may hold what Postgres text cannot: those are stored as JSON strings. */
export function storedName(name: string): string {
  return name.startsWith('"') || name.includes("\0") || !name.isWellFormed() ? JSON.stringify(name) : name;
}

export function nameFromStored(stored: string): string {
  return stored.startsWith('"') ? (JSON.parse(stored) as string) : stored;
}
