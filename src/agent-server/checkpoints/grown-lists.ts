import { LRUCache } from "lru-cache";
import type { CheckpointInput, NewPayload, StoredCheckpoint, StoredValue } from "./checkpoint.ts";

/** A version of a list that is stored whole. */
type Base = { version: string; bytes: Buffer; isStored: boolean };
/** What a channel has in a checkpoint: a base itself, or what is stored as the addition to one. */
type Channel = { version: string; base: Base };
type Known = { checkpointId: string; channels: Map<string, Channel> };

/** A shorter list costs less than looking for what it has in common. */
export const shortestBytes = 4 * 1024;
const longestBytes = 4 * 1024 * 1024;
const keptBytes = 16 * 1024 * 1024;
/** Longer additions become a base of their own, so a value is read from two rows at most. */
const longestShare = 1 / 4;

/** The migration from which on servers read such lists. */
export const grownListsCode = 182;

const opening = 0x5b;
const comma = 0x2c;

/**
 * Makes of a long list that only grew, such as the messages of a conversation, what it adds to an earlier version. Only
 * to one that the parent checkpoint has and that is committed. The statement that writes it makes sure that nobody has
 * deleted it since. What is not known here is stored whole.
 */
export class GrownLists {
  readonly #threads = new LRUCache<string, Known>({
    maxSize: keptBytes,
    sizeCalculation: ({ channels }) =>
      [...channels.values()].reduce((sum, { base }) => sum + base.bytes.length, 1),
  });

  readonly #mayAdd: () => boolean;

  constructor(mayAdd: () => boolean = () => true) {
    this.#mayAdd = mayAdd;
  }

  /** Who reads a checkpoint to go on from it writes the next ones. */
  read({ threadId, checkpointNs, checkpointId, blobs }: StoredCheckpoint): void {
    const channels = new Map<string, Channel>();
    for (const [channel, value] of blobs) {
      const base = storedBase(value);
      if (base) channels.set(channel, { version: value.version, base });
    }
    this.#keep(keyOf(threadId, checkpointNs), { checkpointId, channels });
  }

  /** `stored` is called after the commit. */
  shorten(input: CheckpointInput): { input: CheckpointInput; stored(): void } {
    const key = keyOf(input.threadId, input.checkpointNs);
    const known = this.#threads.get(key);
    const isParent = known?.checkpointId === input.parentCheckpointId;
    const before = known && isParent && this.#mayAdd() ? known.channels : new Map<string, Channel>();
    const channels = new Map<string, Channel>();
    const bases: Base[] = [];
    const blobs = input.blobs.map((blob) => {
      const { channel, version, payload } = blob;
      const bytes = listBytes(payload);
      if (!bytes) return blob;
      const base = before.get(channel)?.base;
      const added = base?.isStored ? addition(base.bytes, bytes) : undefined;
      if (base && added) {
        channels.set(channel, { version, base });
        return { ...blob, base: base.version, payload: { type: payload.type, text: added } };
      }
      const own = { version, bytes, isStored: false };
      bases.push(own);
      channels.set(channel, { version, base: own });
      return blob;
    });
    for (const { channel, version } of input.blobRefs) {
      const same = before.get(channel);
      if (same?.version === version) channels.set(channel, same);
    }
    this.#keep(key, { checkpointId: input.checkpointId, channels });
    return {
      input: blobs.some(({ base }) => base !== undefined) ? { ...input, blobs } : input,
      stored() {
        for (const base of bases) base.isStored = true;
      },
    };
  }

  /** What it is remembered by is gone. */
  forget({ threadId, checkpointNs }: { threadId: string; checkpointNs: string }): void {
    this.#threads.delete(keyOf(threadId, checkpointNs));
  }

  #keep(key: string, known: Known): void {
    if (known.channels.size > 0) this.#threads.set(key, known);
    else this.#threads.delete(key);
  }
}

function keyOf(threadId: string, checkpointNs: string): string {
  return `${threadId}\0${checkpointNs}`;
}

function storedBase(value: StoredValue): Base | undefined {
  const { version, type, text } = value.grown?.base ?? value;
  const bytes = listBytes({ type, text });
  return bytes && { version, bytes, isStored: true };
}

/** Undefined where it is not a list, or not one whose versions are compared. */
function listBytes({ type, text }: NewPayload): Buffer | undefined {
  if (type !== "json" || text.length < shortestBytes || text.length > longestBytes) return undefined;
  const isList = typeof text === "string" ? text.startsWith("[") : text[0] === opening;
  if (!isList) return undefined;
  if (typeof text === "string") return Buffer.from(text);
  // A part of a message would keep all of it.
  return text.buffer.byteLength > 2 * text.length ? Buffer.from(text) : text;
}

/** From the comma, or the closing bracket, that follows what both have; undefined when it is not worth it. */
function addition(base: Buffer, list: Buffer): Buffer | undefined {
  const end = base.length - 1;
  if (list.length < base.length || list.length - end > base.length * longestShare) return undefined;
  if (list.length > base.length && list[end] !== comma) return undefined;
  return base.compare(list, 0, end, 0, end) === 0 ? list.subarray(end) : undefined;
}
