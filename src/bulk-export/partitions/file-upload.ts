import { randomUUID } from "node:crypto";
import type { BlobUpload, BucketSink } from "../../platform/blob/blob-store.ts";
import { AppError } from "../../platform/errors.ts";
import type { BlockMemory } from "../parquet/block-memory.ts";
import type { FileSink } from "../parquet/parquet-file.ts";
import { uploadTokenKey } from "./partition-task.ts";

/**
 * A file on its way to the bucket: sent in parts while it grows, visible only once published. The memory of a part
 * serves another one when the storage has it, and not before: a part may have to be sent again.
 */
export class FileUpload implements FileSink {
  readonly token = randomUUID();
  readonly key: string;
  readonly #store: BucketSink;
  readonly #memory: BlockMemory;
  #part: Buffer | undefined;
  #filled = 0;
  #upload: BlobUpload | undefined;
  bytes = 0;

  /** Every part but the last is a whole block of `memory`. */
  constructor(store: BucketSink, key: string, memory: BlockMemory) {
    this.#store = store;
    this.key = key;
    this.#memory = memory;
  }

  async write(bytes: Buffer): Promise<void> {
    this.bytes += bytes.length;
    for (let at = 0; at < bytes.length; ) {
      this.#part ??= this.#memory.take();
      const copied = bytes.copy(this.#part, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled < this.#part.length) continue;
      this.#upload ??= await this.#store.beginUpload(this.key, this.#putOptions());
      await this.#send(this.#upload);
    }
  }

  /** Makes it visible, in place of any earlier one, and checks that it is. */
  async publish(): Promise<void> {
    if (this.#upload === undefined) {
      const { body, stored } = this.#takePart();
      await this.#store.put(this.key, body, this.#putOptions());
      stored();
    } else {
      if (this.#filled > 0) await this.#send(this.#upload);
      await this.#upload.complete();
    }
    await this.#verify();
  }

  async abandon(): Promise<void> {
    await this.#upload?.abort();
  }

  /** Reading may not be permitted: then the storage's answer at the end of the upload must suffice. */
  async #verify(): Promise<void> {
    let found: Awaited<ReturnType<BucketSink["head"]>>;
    try {
      found = await this.#store.head(this.key);
    } catch (error) {
      if (error instanceof AppError && error.code === "blob.no_permission") return;
      throw error;
    }
    if (found?.bytes === this.bytes) return;
    throw new AppError({
      code: "bulk_export.upload_damaged",
      kind: "bad_gateway",
      retryable: true,
      message: `The storage holds ${found?.bytes ?? 0} of the ${this.bytes} bytes written to ${this.key}.`,
    });
  }

  #putOptions() {
    return { contentType: "application/vnd.apache.parquet", metadata: { [uploadTokenKey]: this.token } };
  }

  async #send(upload: BlobUpload): Promise<void> {
    const { body, stored } = this.#takePart();
    await upload.addPart(body, stored);
  }

  #takePart(): { body: Buffer; stored: () => void } {
    const part = this.#part ?? this.#memory.take();
    const body = part.subarray(0, this.#filled);
    this.#part = undefined;
    this.#filled = 0;
    return { body, stored: () => this.#memory.giveBack(part) };
  }
}
