import type { CheckpointQuery, StoredCheckpoint } from "../../checkpoints/checkpoint.ts";
import type { CallGround, CallGrounds } from "./call-ground.ts";
import type { CallStream, Incoming, Meta } from "./call-stream.ts";
import { ProtocolError } from "./frame.ts";
import type { Answer, CallHandlers } from "./python-channel.ts";
import { storedMeta, storedSegments } from "./stored-segments.ts";

type PutMeta = {
  threadId: string;
  ns: string;
  id: string;
  parentId: string | null;
  refs: [channel: string, version: string][];
  blobs: [channel: string, version: string, type: string][];
};

type WritesMeta = {
  threadId: string;
  ns: string;
  id: string;
  taskId: string;
  writes: [idx: number, channel: string, type: string][];
};

type PlaceMeta = { threadId: string; ns: string; id?: string | null };

const opaqueBytes = 64 * 1024;

/**
 * The checkpoint store for Python's saver, which sends and takes what the store does: texts, references and versions.
 * The server adds the fence; it does not look into the texts.
 */
export class SaverProxy {
  readonly #grounds: CallGrounds;
  readonly handlers: Pick<CallHandlers, "unary" | "streaming">;

  constructor(grounds: CallGrounds) {
    this.#grounds = grounds;
    this.handlers = {
      unary: {
        "saver.put": (request) => this.#write(request, putCheckpoint),
        "saver.writes": (request) => this.#write(request, putWrites),
        "saver.get": (request) => this.#get(request),
        "saver.texts": (request) => this.#texts(request),
        "saver.channelWrites": (request) => this.#channelWrites(request),
        "saver.delete": (request) => this.#delete(request),
      },
      streaming: { "saver.list": (request, stream) => this.#list(request, stream) },
    };
  }

  async #write(
    request: Incoming,
    write: (ground: CallGround, request: Incoming) => Promise<void>,
  ): Promise<Answer> {
    const ground = this.#grounds.of(request.meta);
    const { noteWrite = (written: Promise<void>) => written } = ground;
    await noteWrite(
      (async () => {
        ground.requireHeld?.();
        await write(ground, request);
      })(),
    );
    return {};
  }

  async #get({ meta }: Incoming): Promise<Answer> {
    const { read, checkpoints } = this.#grounds.of(meta);
    const { threadId, ns, id } = meta as PlaceMeta;
    const place = { threadId, checkpointNs: ns, checkpointId: id ?? undefined };
    const stored = findRead(read, place) ?? (await checkpoints.get(place));
    return { meta: storedMeta(stored), segments: storedSegments(stored) };
  }

  async #list({ meta }: Incoming, stream: CallStream): Promise<void> {
    const { read, carried, checkpoints } = this.#grounds.of(meta);
    for await (const page of read ?? checkpoints.list(queryOf(meta))) {
      for (const stored of page)
        if (!(await stream.send(storedMeta(stored, carried), storedSegments(stored, carried)))) return;
    }
  }

  /** Of values that were sent as numbers. */
  async #texts({ meta }: Incoming): Promise<Answer> {
    const { carried } = this.#grounds.of(meta);
    const { numbers } = meta as { numbers: number[] };
    if (!carried) throw new ProtocolError("This call carries no values.");
    return { segments: numbers.map((number) => carried.textOf(number)) };
  }

  async #channelWrites({ meta }: Incoming): Promise<Answer> {
    const { checkpoints } = this.#grounds.of(meta);
    const { threadId, ns, id, channel } = meta as {
      threadId: string;
      ns: string;
      id: string;
      channel: string;
    };
    const payloads = await checkpoints.channelWrites(
      { threadId, checkpointNs: ns, checkpointId: id },
      channel,
    );
    return { meta: { types: payloads.map(({ type }) => type) }, segments: payloads.map(({ text }) => text) };
  }

  async #delete({ meta }: Incoming): Promise<Answer> {
    await this.#grounds.of(meta).checkpoints.deleteThread(String(meta.threadId));
    return {};
  }
}

async function putCheckpoint(ground: CallGround, { meta, segments }: Incoming): Promise<void> {
  const { threadId, ns, id, parentId, refs, blobs } = meta as PutMeta;
  requireTexts(segments, 2 + blobs.length);
  await ground.checkpoints.put(
    {
      threadId,
      checkpointNs: ns,
      checkpointId: id,
      parentCheckpointId: parentId,
      structure: segments[0]!.toString(),
      metadata: segments[1]!.toString(),
      blobRefs: refs.map(([channel, version]) => ({ channel, version })),
      blobs: blobs.map(([channel, version, type], index) => ({
        channel,
        version,
        payload: { type, text: opaque(segments[2 + index]!) },
      })),
    },
    ground.fence,
  );
}

async function putWrites(ground: CallGround, { meta, segments }: Incoming): Promise<void> {
  const { threadId, ns, id, taskId, writes } = meta as WritesMeta;
  requireTexts(segments, writes.length);
  await ground.checkpoints.putWrites(
    {
      threadId,
      checkpointNs: ns,
      checkpointId: id,
      taskId,
      writes: writes.map(([idx, channel, type], index) => ({
        idx,
        channel,
        payload: { type, text: opaque(segments[index]!) },
      })),
    },
    ground.fence,
  );
}

function requireTexts(segments: readonly Buffer[], count: number): void {
  if (segments.length !== count)
    throw new ProtocolError(`A checkpoint came with ${segments.length} texts instead of ${count}.`);
}

/** A large text is not made a string, which would hold up everything else twice: it goes to the database as it came. */
function opaque(segment: Buffer): string | Buffer {
  return segment.length > opaqueBytes ? segment : segment.toString();
}

function queryOf(meta: Meta): CheckpointQuery {
  const { threadId, ns, id, before, filter, limit } = meta as {
    threadId?: string;
    ns?: string;
    id?: string;
    before?: string;
    filter?: Record<string, unknown>;
    limit?: number;
  };
  return {
    ...(threadId === undefined || threadId === null ? {} : { threadId }),
    ...(ns === undefined || ns === null ? {} : { checkpointNs: ns }),
    ...(id ? { checkpointId: id } : {}),
    ...(before ? { before } : {}),
    ...(filter ? { filter } : {}),
    ...(typeof limit === "number" ? { limit } : {}),
  };
}

function findRead(
  pages: readonly StoredCheckpoint[][] | undefined,
  place: { threadId: string; checkpointNs: string; checkpointId: string | undefined },
): StoredCheckpoint | undefined {
  return pages
    ?.flat()
    .find(
      (stored) =>
        stored.threadId === place.threadId &&
        stored.checkpointNs === place.checkpointNs &&
        (place.checkpointId === undefined || stored.checkpointId === place.checkpointId),
    );
}
