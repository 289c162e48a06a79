import type {
  BaseCheckpointSaver,
  CheckpointListOptions,
  CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import {
  type CheckpointRequest,
  type Fence,
  nextVersion,
  noTaskId,
  type Payload,
  type StoredCheckpoint,
  writeIndex,
} from "../../checkpoints/checkpoint.ts";
import { untilLater } from "../../checkpoints/checkpoint-order.ts";
import type { CheckpointStore } from "../../checkpoints/checkpoint-store.ts";
import { wireTexts } from "../../checkpoints/wire-text.ts";
import {
  configOf,
  encodeCheckpoint,
  type PutArguments,
  placeOf,
  readTuple,
  requirePart,
  type SaverConfig,
  settleAll,
} from "./checkpoint-tuple.ts";
import type { GraphKit } from "./graph-kit.ts";
import { MessageCodec, WireCodec } from "./message-codec.ts";

export type SaverKit = Pick<GraphKit, "BaseCheckpointSaver" | "serde" | "messages">;

export type SaverOptions = {
  /** What is written is refused once another attempt has the run. */
  fence?: Fence;
  /** Throws once the run is not ours any more: asked before every step and every write. */
  requireHeld?: () => void;
  /** Added to the metadata of every checkpoint written. */
  metadata?: Record<string, unknown>;
  /** The thread has no checkpoint yet but those this saver writes, so there is nothing to look for before. */
  newThread?: boolean;
  /** Gives values as wire JSON instead of message objects: for reading only. */
  wire?: boolean;
  /** Channels whose values in `read` it gives as the text of that JSON where it can: see `WireText`. */
  texts?: ReadonlySet<string>;
  /** Checkpoints its user has read already, newest first: `list` gives these, and `getTuple` looks here first. */
  read?: readonly StoredCheckpoint[][];
};

export type RunSaverOptions = Pick<SaverOptions, "metadata" | "newThread" | "requireHeld"> & { fence: Fence };

/** A saver of the graph's own copy of the library, writing to our tables. */
export type CheckpointSaver = BaseCheckpointSaver & {
  /** The same saver for one attempt of a run. */
  forRun(options: RunSaverOptions): CheckpointSaver;
  /** The same saver with other options; those it was made with go on to hold. */
  with(options: Pick<SaverOptions, "metadata" | "texts" | "read">): CheckpointSaver;
};

/** Make one per kit and use `forRun` for each run: the class and its table of messages are built here. */
export function createCheckpointSaver(
  kit: SaverKit,
  store: CheckpointStore,
  options: SaverOptions = {},
): CheckpointSaver {
  const messages = new MessageCodec(kit);
  const codec = options.wire ? new WireCodec(messages) : messages;

  class TreadleCheckpointSaver extends kit.BaseCheckpointSaver {
    readonly #options: SaverOptions;
    #empty: boolean;

    constructor(options: SaverOptions) {
      super(kit.serde);
      this.#options = options;
      this.#empty = options.newThread ?? false;
      // Changes of a state call it without the saver.
      this.getNextVersion = this.getNextVersion.bind(this);
    }

    forRun(runOptions: RunSaverOptions): TreadleCheckpointSaver {
      return new TreadleCheckpointSaver(runOptions);
    }

    with(more: Pick<SaverOptions, "metadata" | "texts" | "read">): TreadleCheckpointSaver {
      return new TreadleCheckpointSaver({ ...this.#options, ...more });
    }

    /** The graph library asks when it applies what a step wrote, right before it begins the next one. */
    override getNextVersion(current: number | undefined): number {
      this.#options.requireHeld?.();
      return nextVersion(current, Math.random());
    }

    override async getTuple(config: SaverConfig): Promise<CheckpointTuple | undefined> {
      const { threadId, checkpointNs = "", checkpointId } = placeOf(config);
      if (threadId === undefined || this.#empty) return undefined;
      const request = { threadId, checkpointNs, checkpointId };
      const read = findRead(this.#options.read, request);
      const stored = read ?? (await store.get(request));
      if (stored === undefined) return undefined;
      if (!options.wire) await untilLater(stored.checkpointId);
      // Others are of subgraphs, whose channels are their own; and the latest state has all writes applied to it.
      const isText = read && stored.writes.length === 0;
      return readTuple(store, codec, stored, isText ? textsOf([stored], this.#options.texts) : new Map());
    }

    override async *list(
      config: SaverConfig,
      options: CheckpointListOptions = {},
    ): AsyncGenerator<CheckpointTuple> {
      const { limit, filter } = options;
      const before = options.before === undefined ? undefined : placeOf(options.before).checkpointId;
      const pages = this.#options.read ?? store.list({ ...placeOf(config), before, limit, filter });
      for await (const page of pages) {
        const revived = new Map<Payload, unknown>();
        const texts = textsOf(page, this.#options.texts);
        for (const stored of page) {
          // A write that no task made is applied to the values by the graph, which then looks inside.
          const isApplied = stored.writes.some(({ taskId }) => taskId === noTaskId);
          yield await readTuple(store, codec, stored, isApplied ? revived : texts);
        }
      }
    }

    override async put(...[config, checkpoint, metadata, newVersions]: PutArguments): Promise<SaverConfig> {
      this.#options.requireHeld?.();
      this.#empty = false;
      const place = placeOf(config);
      const threadId = requirePart(place.threadId, "thread_id");
      const checkpointNs = place.checkpointNs ?? "";
      const fullMetadata = { ...this.#options.metadata, ...metadata };
      const encoded = encodeCheckpoint(codec, checkpoint, fullMetadata, newVersions, place.checkpointId);
      const input = { threadId, checkpointNs, checkpointId: checkpoint.id, ...(await encoded) };
      await store.put(input, this.#options.fence);
      return configOf(threadId, checkpointNs, checkpoint.id);
    }

    override async putWrites(
      config: SaverConfig,
      writes: [channel: string, value: unknown][],
      taskId: string,
    ): Promise<void> {
      this.#options.requireHeld?.();
      const { threadId, checkpointNs = "", checkpointId } = placeOf(config);
      const place = {
        threadId: requirePart(threadId, "thread_id"),
        checkpointNs,
        checkpointId: requirePart(checkpointId, "checkpoint_id"),
      };
      const encoded = writes.map(([channel, value], position) => ({
        channel,
        idx: writeIndex(channel, position),
        payload: codec.encode(value),
      }));
      await store.putWrites({ ...place, taskId, writes: await settleAll(encoded) }, this.#options.fence);
    }

    override deleteThread(threadId: string): Promise<void> {
      return store.deleteThread(threadId);
    }
  }

  return new TreadleCheckpointSaver(options);
}

function findRead(
  pages: readonly StoredCheckpoint[][] | undefined,
  { threadId, checkpointNs, checkpointId }: CheckpointRequest,
): StoredCheckpoint | undefined {
  return pages
    ?.flat()
    .find(
      (stored) =>
        stored.threadId === threadId &&
        stored.checkpointNs === checkpointNs &&
        (checkpointId === undefined || stored.checkpointId === checkpointId),
    );
}

/** What `readTuple` need not revive: the values of these channels in all the checkpoints, as text. */
function textsOf(
  page: readonly StoredCheckpoint[],
  channels: ReadonlySet<string> = new Set(),
): Map<Payload, unknown> {
  const texts = new Map<Payload, unknown>();
  for (const channel of channels) {
    const versions = new Set(page.flatMap(({ blobs }) => blobs.get(channel) ?? []));
    for (const [payload, text] of wireTexts(versions)) texts.set(payload, text);
  }
  return texts;
}
