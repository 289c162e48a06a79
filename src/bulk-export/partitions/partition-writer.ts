import type { BucketSink } from "../../platform/blob/blob-store.ts";
import { openS3BlobStore } from "../../platform/blob/open-s3-blob-store.ts";
import type { CopyOut } from "../../platform/db/copy/copy-out.ts";
import { readRowsBy } from "../../platform/db/copy/row-reader.ts";
import { NetworkGuard } from "../../platform/network/network-guard.ts";
import { pageCodec } from "../parquet/page-codec.ts";
import { ParquetFile } from "../parquet/parquet-file.ts";
import { RowGroupBuffer } from "../parquet/row-group.ts";
import { FileUpload } from "./file-upload.ts";
import { cursorOf } from "./partition-cursor.ts";
import { createPartitionMemory, type PartitionMemory } from "./partition-memory.ts";
import { type PartitionEvents, type PartitionTask, partName } from "./partition-task.ts";

/** Pages being compressed, and row groups waiting for the storage, before reading from the database pauses. */
const maxPagesUnderWay = 4;
const maxGroupsUnderWay = 1;
const timeBytes = 8;
const idBytes = 16;

type OpenFile = { upload: FileUpload; file: ParquetFile; rows: number; rawBytes: number };

/** Streams one partition from the database into Parquet files in the bucket. */
export async function writePartition(
  task: PartitionTask,
  events: PartitionEvents,
  signal: AbortSignal,
  memory: PartitionMemory = createPartitionMemory(task.limits),
): Promise<{ rows: number }> {
  const network = new NetworkGuard({ allowPrivateAddresses: task.allowPrivateAddresses });
  const stopped = new AbortController();
  const store = await openS3BlobStore({
    settings: task.bucket,
    network,
    signal: AbortSignal.any([signal, stopped.signal]),
    silenceTimeoutMs: task.silenceTimeoutMs,
  });
  try {
    return await streamPartition(task, events, store, signal, stopped, memory);
  } finally {
    store.close();
  }
}

/**
 * Rows are taken as they come. What has to wait (compression, uploads) runs behind them in a chain, and the database is
 * paused when the chain is long. `stopped` is aborted with the first failure on either side.
 */
export async function streamPartition(
  task: PartitionTask,
  events: PartitionEvents,
  store: BucketSink,
  signal: AbortSignal,
  stopped: AbortController,
  memory: PartitionMemory = createPartitionMemory(task.limits),
): Promise<{ rows: number }> {
  const stream = new PartitionStream(task, events, store, memory, (error) => stopped.abort(error));
  try {
    const rows = await readRowsBy(task.reader, {
      signal: AbortSignal.any([signal, stopped.signal]),
      onStart: (control) => stream.attach(control),
      onRow: (source, start, end) => stream.append(source, start, end),
    });
    await stream.finish();
    return { rows };
  } catch (error) {
    stopped.abort(error);
    await stream.abandon();
    signal.throwIfAborted();
    throw error;
  } finally {
    stream.close();
  }
}

class PartitionStream {
  readonly #task: PartitionTask;
  readonly #events: PartitionEvents;
  readonly #store: BucketSink;
  readonly #memory: PartitionMemory;
  readonly #fail: (error: unknown) => void;
  readonly #codec: ReturnType<typeof pageCodec>;
  readonly #buffer: RowGroupBuffer;
  /** Time and id of the last row. */
  readonly #lastTime = Buffer.alloc(timeBytes);
  readonly #lastId = Buffer.alloc(idBytes);
  #control: CopyOut | undefined;
  #paused = false;
  #pages = 0;
  #groups = 0;
  #nextPart: number;
  #open: OpenFile | undefined;
  #tail: Promise<void> = Promise.resolve();
  #failed = false;

  constructor(
    task: PartitionTask,
    events: PartitionEvents,
    store: BucketSink,
    memory: PartitionMemory,
    fail: (error: unknown) => void,
  ) {
    this.#task = task;
    this.#events = events;
    this.#store = store;
    this.#memory = memory;
    this.#fail = fail;
    this.#codec = pageCodec(task.compression);
    this.#nextPart = task.firstPart;
    this.#buffer = new RowGroupBuffer(task.columns, task.fields, {
      pageBytes: task.limits.pageBytes,
      compress: (page) => this.#compress(page),
      memory,
    });
  }

  attach(control: CopyOut): void {
    this.#control = control;
  }

  append(source: Buffer, start: number, end: number): void {
    this.#buffer.append(source, start, end);
    // Field count, then length and bytes of the time, then of the id.
    source.copy(this.#lastTime, 0, start + 6, start + 6 + timeBytes);
    source.copy(this.#lastId, 0, start + 10 + timeBytes, start + 10 + timeBytes + idBytes);
    const { groupBytes, groupRows, fileBytes } = this.#task.limits;
    if (this.#buffer.rawBytes < groupBytes && this.#buffer.rows < groupRows) return;
    const open = this.#queueGroup();
    if (open.rawBytes >= fileBytes) this.#queueFile();
    this.#steer();
  }

  async finish(): Promise<void> {
    if (this.#buffer.rows > 0) this.#queueGroup();
    if (this.#open) this.#queueFile();
    await this.#tail;
  }

  async abandon(): Promise<void> {
    // Its failure, if any, is why it is abandoned.
    await this.#tail.catch(() => {});
    await this.#open?.upload.abandon();
  }

  close(): void {
    this.#codec.close();
  }

  #queueGroup(): OpenFile {
    const group = this.#buffer.cut();
    this.#open ??= this.#openFile();
    const open = this.#open;
    open.rows += group.rows;
    open.rawBytes += group.rawBytes;
    this.#groups += 1;
    this.#chain(async () => {
      await open.file.writeGroup(group);
      this.#groups -= 1;
      this.#steer();
    }, open);
    return open;
  }

  #queueFile(): void {
    const open = this.#open!;
    this.#open = undefined;
    const cursor = cursorOf(this.#lastTime, this.#lastId);
    this.#chain(async () => {
      await open.file.finish();
      const { key, token, bytes } = open.upload;
      const file = { key, token, bytes, rows: open.rows, cursor };
      await this.#events.intent(file);
      await open.upload.publish();
      await this.#events.written(file);
    }, open);
  }

  #openFile(): OpenFile {
    const task = this.#task;
    const key = `${task.folder}${partName(this.#nextPart)}`;
    this.#nextPart += 1;
    const upload = new FileUpload(this.#store, key, this.#memory.parts);
    const file = new ParquetFile({
      specs: task.columns,
      codecId: this.#codec.id,
      sink: upload,
      metadata: task.metadata,
    });
    return { upload, file, rows: 0, rawBytes: 0 };
  }

  /** One step after another; the first failure ends the whole and what was sent of its file is freed. */
  #chain(step: () => Promise<void>, open: OpenFile): void {
    this.#tail = this.#tail.then(step).catch(async (error: unknown) => {
      if (!this.#failed) {
        this.#failed = true;
        this.#fail(error);
        await open.upload.abandon();
      }
      throw error;
    });
    // The failure is reported above; this keeps it from counting as unhandled while rows still come.
    this.#tail.catch(() => {});
  }

  #compress(page: Buffer): Promise<Buffer> | Buffer {
    const compressed = this.#codec.compress(page);
    if (!(compressed instanceof Promise)) return compressed;
    this.#pages += 1;
    this.#steer();
    const done = compressed.finally(() => {
      this.#pages -= 1;
      this.#steer();
    });
    // The column that waits for its pages reports it; it may not wait yet.
    done.catch(() => {});
    return done;
  }

  #steer(): void {
    const full = this.#pages > maxPagesUnderWay || this.#groups > maxGroupsUnderWay;
    if (full === this.#paused) return;
    this.#paused = full;
    if (full) this.#control?.pause();
    else this.#control?.resume();
  }
}
