import { promisify } from "node:util";
import { constants, gzip, zstdCompress } from "node:zlib";
import { snappyCompress } from "./snappy.ts";

export const compressions = ["zstandard", "snappy", "gzip", "none"] as const;
export type Compression = (typeof compressions)[number];

export type PageCodec = { id: number; compress(page: Buffer): Promise<Buffer> | Buffer };

const zstdPage = promisify(zstdCompress);
const gzipPage = promisify(gzip);
// Level 3, the usual one, made files of such texts 3 % smaller for a quarter more of what an export costs most of.
const zstdParameters = { [constants.ZSTD_c_compressionLevel]: 2 };

/**
 * Mostly one piece of output per page: by default every 16 KB of it is a round trip to the pool of threads, which cost
 * the reading thread more than everything else.
 */
const mostlyWhole = (page: Buffer) => ({ chunkSize: Math.max(4_096, Math.ceil(page.length / 2)) });

/** The result in memory of its own size: kept until its row group is written, the rest of a larger one would be lost. */
const fitted = (result: Buffer) =>
  result.length === result.buffer.byteLength ? result : Buffer.from(result);

/** Parquet's codec numbers, and what compresses a page. The asynchronous ones run beside the caller's thread. */
export function pageCodec(compression: Compression): PageCodec {
  switch (compression) {
    case "none":
      return { id: 0, compress: (page) => page };
    case "snappy":
      return { id: 1, compress: snappyCompress };
    case "gzip":
      return { id: 2, compress: async (page) => fitted(await gzipPage(page, mostlyWhole(page))) };
    case "zstandard":
      return {
        id: 6,
        compress: async (page) =>
          fitted(
            await zstdPage(page, {
              ...mostlyWhole(page),
              pledgedSrcSize: page.length,
              params: zstdParameters,
            }),
          ),
      };
  }
}
