import { randomUUID } from "node:crypto";
import type { BlobStore, BlobUpload } from "../../platform/blob/blob-store.ts";
import { AppError } from "../../platform/errors.ts";
import type { FileSink } from "../parquet/parquet-file.ts";
import { uploadTokenKey } from "./partition-task.ts";

/** A file on its way to the bucket: sent in parts while it grows, visible only once published. */
export class FileUpload implements FileSink {
  readonly token = randomUUID();
  readonly key: string;
  readonly #store: BlobStore;
  readonly #partBytes: number;
  #chunks: Buffer[] = [];
  #waiting = 0;
  #upload: BlobUpload | undefined;
  bytes = 0;

  constructor(store: BlobStore, key: string, partBytes: number) {
    this.#store = store;
    this.key = key;
    this.#partBytes = partBytes;
  }

  async write(bytes: Buffer): Promise<void> {
    this.#chunks.push(bytes);
    this.#waiting += bytes.length;
    this.bytes += bytes.length;
    if (this.#waiting < this.#partBytes) return;
    this.#upload ??= await this.#store.beginUpload(this.key, this.#putOptions());
    await this.#upload.addPart(this.#takeWaiting());
  }

  /** Makes it visible, in place of any earlier one, and checks that it is. */
  async publish(): Promise<void> {
    if (this.#upload === undefined) {
      await this.#store.put(this.key, this.#takeWaiting(), this.#putOptions());
    } else {
      if (this.#waiting > 0) await this.#upload.addPart(this.#takeWaiting());
      await this.#upload.complete();
    }
    await this.#verify();
  }

  async abandon(): Promise<void> {
    await this.#upload?.abort();
  }

  /** Reading may not be permitted: then the storage's word at the end of the upload has to do. */
  async #verify(): Promise<void> {
    let found: Awaited<ReturnType<BlobStore["head"]>>;
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

  #takeWaiting(): Buffer {
    const [only] = this.#chunks;
    const part = this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks, this.#waiting);
    this.#chunks = [];
    this.#waiting = 0;
    return part;
  }
}
