import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { snappyCompress } from "./snappy.ts";
import { ZstdCompressors } from "./zstd-compressors.ts";

export const compressions = ["zstandard", "snappy", "gzip", "none"] as const;
export type Compression = (typeof compressions)[number];

export type PageCodec = {
  id: number;
  compress(page: Buffer): Promise<Buffer> | Buffer;
  /** Frees what it holds; nothing is compressed after this. */
  close(): void;
};

const gzipPage = promisify(gzip);
// Level 3, the usual one, made files of such texts 3 % smaller for a quarter more of what an export costs most of.
const zstdLevel = 2;

/**
 * Mostly one piece of output per page: by default every 16 KB of it is a round trip to the pool of threads, which cost
 * the reading thread more than everything else.
 */
const mostlyWhole = (page: Buffer) => ({ chunkSize: Math.max(4_096, Math.ceil(page.length / 2)) });

const nothing = () => {};

/** Parquet's codec numbers, and what compresses a page. The asynchronous ones run beside the caller's thread. */
export function pageCodec(compression: Compression): PageCodec {
  switch (compression) {
    case "none":
      return { id: 0, compress: (page) => page, close: nothing };
    case "snappy":
      return { id: 1, compress: snappyCompress, close: nothing };
    case "gzip":
      return { id: 2, compress: (page) => gzipPage(page, mostlyWhole(page)), close: nothing };
    case "zstandard": {
      const compressors = new ZstdCompressors(zstdLevel);
      return {
        id: 6,
        compress: (page) => compressors.compress(page),
        close: () => compressors.close(),
      };
    }
  }
}
