import { promisify } from "node:util";
import { constants, gzip, zstdCompress } from "node:zlib";
import { snappyCompress } from "./snappy.ts";

export const compressions = ["zstandard", "snappy", "gzip", "none"] as const;
export type Compression = (typeof compressions)[number];

export type PageCodec = { id: number; compress(page: Buffer): Promise<Buffer> | Buffer };

const zstd = promisify(zstdCompress);
const deflate = promisify(gzip);
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

/** Parquet's codec numbers, and what compresses a page. The asynchronous ones run beside the caller's thread. */
export function pageCodec(compression: Compression): PageCodec {
  switch (compression) {
    case "none":
      return { id: 0, compress: (page) => page };
    case "snappy":
      return { id: 1, compress: snappyCompress };
    case "gzip":
      return { id: 2, compress: (page) => deflate(page) };
    case "zstandard":
      return { id: 6, compress: (page) => zstd(page, zstdOptions) };
  }
}
