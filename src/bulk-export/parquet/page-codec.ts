import { promisify } from "node:util";
import { gzip } from "node:zlib";
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

/** Loaded when asked for: it is native code, ready-made for many machines but not for all. */
const loadSnappy = () =>
  import("snappy").catch((cause: unknown) => {
    const message = "Snappy cannot be loaded on this machine. Export with zstandard, gzip or none.";
    throw new Error(message, { cause });
  });

/** Parquet's codec numbers, and what compresses a page. The asynchronous ones run beside the caller's thread. */
export function pageCodec(compression: Compression): PageCodec {
  switch (compression) {
    case "none":
      return { id: 0, compress: (page) => page, close: nothing };
    case "snappy":
      return { id: 1, compress: async (page) => (await loadSnappy()).compress(page), close: nothing };
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
