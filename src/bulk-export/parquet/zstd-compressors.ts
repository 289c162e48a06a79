import type { TransformOptions } from "node:stream";
import { constants, createZstdCompress, type ZstdCompress, type ZstdOptions } from "node:zlib";

/** As many as the runtime compresses at once by default. */
const mostAtOnce = 4;
/** Of several pages: what is compressed is copied from here, and a page that goes on in the next piece costs a copy more. */
const outputBytes = 2 * 1024 * 1024;
const neverFull = 2 ** 30;

/**
 * Zstandard frames, one per page, from compressors that are reused. Each holds a few megabytes that the garbage
 * collector does not see. Allocated for every page, they would make it run twice as often, and would never be fully
 * returned to the system.
 */
export class ZstdCompressors {
  readonly #level: number;
  readonly #all = new Set<ZstdCompress>();
  readonly #idle: ZstdCompress[] = [];
  readonly #waiting: (() => void)[] = [];
  #closed = false;

  constructor(level: number) {
    this.#level = level;
  }

  /** The result is to be copied soon: it lies in memory that is larger than it. */
  async compress(page: Buffer): Promise<Buffer> {
    while (!this.#closed && this.#idle.length === 0 && this.#all.size >= mostAtOnce) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#closed) throw closed();
    const compressor = this.#idle.pop() ?? this.#create();
    try {
      const frame = await writeFrame(compressor, page);
      this.#idle.push(compressor);
      return frame;
    } catch (error) {
      this.#all.delete(compressor);
      compressor.destroy();
      throw error;
    } finally {
      // One is free, or there is room for another.
      this.#waiting.shift()?.();
    }
  }

  /** Frees what they hold; a page still being compressed fails. */
  close(): void {
    this.#closed = true;
    for (const compressor of this.#all) compressor.destroy();
    this.#idle.length = 0;
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #create(): ZstdCompress {
    const options: ZstdOptions & Pick<TransformOptions, "readableHighWaterMark"> = {
      // Every write is a frame of its own, with its size in its head.
      flush: constants.ZSTD_e_end,
      chunkSize: outputBytes,
      params: { [constants.ZSTD_c_compressionLevel]: this.#level },
      // A frame is taken when it is complete, so nothing may wait for a reader.
      readableHighWaterMark: neverFull,
    };
    const compressor = createZstdCompress(options);
    // The write that failed reports it.
    compressor.on("error", () => {});
    this.#all.add(compressor);
    return compressor;
  }
}

function writeFrame(compressor: ZstdCompress, page: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    compressor.write(page, (error) => {
      if (error) return reject(error);
      // Every page, also one of nothing, makes a frame; a compressor that was closed meanwhile reports no error.
      const frame: Buffer | null = compressor.read();
      if (frame === null) reject(closed());
      else resolve(frame);
    });
  });
}

function closed(): Error {
  return new Error("The compressors were closed.");
}
