import { LRUCache } from "lru-cache";
import {
  noTaskId,
  type StoredCheckpoint,
  type StoredValue,
  type StoredWrite,
} from "../checkpoints/checkpoint.ts";
import { wireTexts } from "../checkpoints/wire-text.ts";
import type { OpenedGraph } from "../graphs/graph-runtime.ts";
import type { StateSnapshot } from "../graphs/state-snapshot.ts";
import { type StatePart, toThreadStateJson } from "./thread-state.ts";

type Pages = readonly StoredCheckpoint[][];
type Place = { graphId: string; kind: string };
/** As `StatePart`, without the texts. */
type KeptPart = string | { channel: string };
/** What a state is computed from, without its long values, and what became of it. */
type Kept = {
  graphId: string;
  checkpoint: Omit<StoredCheckpoint, "blobs">;
  versions: string;
  parts: readonly KeptPart[];
};

const keptBytes = 12 * 1024 * 1024;
/** One state must not take the place of many. */
const longestBytes = 512 * 1024;
/** What holds the texts of a state together, and those of a write. */
const stateBytes = 1_000;
const writeBytes = 300;
/** Of a text that is not Latin alone. */
const characterBytes = 2;

/**
 * The JSON of states that were asked for before: who reads the history of a conversation reads it again after the next
 * run, when all but a few states are what they were. Checkpoints are read each time, and a state is computed again unless
 * its own is in every part what it was. Long values are not kept but put in anew: versions of one share most of their text.
 */
export class StateTexts {
  readonly #kept = new LRUCache<string, Kept>({
    maxSize: keptBytes,
    maxEntrySize: longestBytes,
    sizeCalculation: bytesOf,
  });

  /**
   * `compute` answers the states of the checkpoints it is given. `kind`: of states that are computed in the same way;
   * without it none is kept.
   */
  async of(
    { graph, kind, read }: { graph: OpenedGraph; kind: string | undefined; read: Pages },
    compute: (missing: Pages) => Promise<StateSnapshot[]>,
  ): Promise<Map<StoredCheckpoint, readonly StatePart[]>> {
    const { graphId } = graph;
    const place = kind !== undefined && graph.isRepeatable ? { graphId, kind } : undefined;
    const texts = place ? this.#find(place, read.flat()) : new Map<StoredCheckpoint, readonly StatePart[]>();
    const missing = read.map((page) => page.filter((stored) => !texts.has(stored)));
    const computed = missing.flat();
    const snapshots = computed.length === 0 ? [] : await compute(missing);
    for (const [index, stored] of computed.entries()) {
      const parts = toThreadStateJson(snapshots[index]!);
      texts.set(stored, parts);
      if (place) this.#keep(place, stored, parts);
    }
    return texts;
  }

  #find(
    { graphId, kind }: Place,
    read: readonly StoredCheckpoint[],
  ): Map<StoredCheckpoint, readonly StatePart[]> {
    const kept = new Map<StoredCheckpoint, readonly KeptPart[]>();
    for (const stored of read) {
      const entry = this.#kept.get(keyOf(kind, stored));
      if (entry?.graphId === graphId && isSame(entry, stored)) kept.set(stored, entry.parts);
    }
    const fill = filling(kept);
    const found = new Map<StoredCheckpoint, readonly StatePart[]>();
    for (const [stored, parts] of kept) {
      const filled = fill(stored, parts);
      if (filled) found.set(stored, filled);
    }
    return found;
  }

  #keep({ graphId, kind }: Place, stored: StoredCheckpoint, parts: readonly StatePart[]): void {
    // Who reads it applies such writes, with the graph's own code.
    if (stored.writes.some(({ taskId }) => taskId === noTaskId)) return;
    const kept: KeptPart[] = [];
    for (const part of parts) {
      if (typeof part === "string") kept.push(part);
      else if (part.channel !== undefined) kept.push({ channel: part.channel });
      else return;
    }
    const { blobs, ...checkpoint } = stored;
    this.#kept.set(keyOf(kind, stored), { graphId, checkpoint, versions: versionsOf(blobs), parts: kept });
  }
}

function keyOf(kind: string, { threadId, checkpointNs, checkpointId }: StoredCheckpoint): string {
  return `${kind}\0${threadId}\0${checkpointNs}\0${checkpointId}`;
}

function isSame({ checkpoint, versions }: Kept, stored: StoredCheckpoint): boolean {
  return (
    checkpoint.parentCheckpointId === stored.parentCheckpointId &&
    checkpoint.structure === stored.structure &&
    checkpoint.metadata === stored.metadata &&
    checkpoint.writes.length === stored.writes.length &&
    checkpoint.writes.every((write, index) => isSameWrite(write, stored.writes[index]!)) &&
    versions === versionsOf(stored.blobs)
  );
}

function isSameWrite(one: StoredWrite, other: StoredWrite): boolean {
  return (
    one.taskId === other.taskId &&
    one.idx === other.idx &&
    one.channel === other.channel &&
    one.payload.type === other.payload.type &&
    one.payload.text === other.payload.text
  );
}

/** A version of a channel never changes, but it may be gone. */
function versionsOf(blobs: StoredCheckpoint["blobs"]): string {
  return JSON.stringify([...blobs].map(([channel, { version }]) => [channel, version]));
}

/** Puts the long values in, each converted once for all states that have it. */
function filling(kept: ReadonlyMap<StoredCheckpoint, readonly KeptPart[]>) {
  const versions = new Map<string, Set<StoredValue>>();
  for (const [{ blobs }, parts] of kept) {
    for (const part of parts) {
      if (typeof part === "string") continue;
      const value = blobs.get(part.channel);
      if (value) versions.set(part.channel, (versions.get(part.channel) ?? new Set()).add(value));
    }
  }
  const texts = new Map([...versions.values()].flatMap((values) => [...wireTexts(values)]));
  return ({ blobs }: StoredCheckpoint, parts: readonly KeptPart[]): StatePart[] | undefined => {
    const filled: StatePart[] = [];
    for (const part of parts) {
      if (typeof part === "string") {
        filled.push(part);
        continue;
      }
      const text = texts.get(blobs.get(part.channel)!);
      if (!text) return undefined;
      filled.push({ ...part, text });
    }
    return filled;
  };
}

function bytesOf({ checkpoint: { structure, metadata, writes }, versions, parts }: Kept): number {
  const texts = [structure, metadata, versions, ...parts.filter((part) => typeof part === "string")];
  for (const { taskId, channel, payload } of writes) texts.push(taskId, channel, payload.text);
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  return stateBytes + writes.length * writeBytes + characters * characterBytes;
}
