import type { BucketSettings } from "../../platform/blob/blob-store.ts";
import type { RowReader } from "../../platform/db/copy/row-reader.ts";
import type { ColumnSpec } from "../parquet/column.ts";
import type { Compression } from "../parquet/page-codec.ts";

export type FileLimits = {
  /** Raw bytes of a page, the unit of compression. */
  pageBytes: number;
  /** Raw bytes and rows of a row group: what a reader must hold at once. */
  groupBytes: number;
  groupRows: number;
  /** Raw bytes of a file. By raw bytes, so that the same rows are always cut in the same places. */
  fileBytes: number;
  /** Bytes of one part of an upload. */
  partBytes: number;
};

const mebibyte = 1024 * 1024;

export const defaultFileLimits: FileLimits = {
  pageBytes: mebibyte,
  groupBytes: 64 * mebibyte,
  groupRows: 131_072,
  fileBytes: 384 * mebibyte,
  partBytes: 5 * mebibyte,
};

/** Everything needed to write one partition, as plain data: it crosses to another thread. */
export type PartitionTask = {
  reader: RowReader;
  /** The names of a row's fields, the first two being start_time and id. */
  fields: string[];
  columns: ColumnSpec[];
  compression: Compression;
  limits: FileLimits;
  bucket: BucketSettings;
  allowPrivateAddresses: boolean;
  /** The longest silence of the storage. */
  silenceTimeoutMs: number;
  /** Keys of the files begin with it. */
  folder: string;
  /** The number of the first file. */
  firstPart: number;
  /** Written into every file. */
  metadata: Record<string, string>;
};

export type PartitionFile = {
  key: string;
  rows: number;
  bytes: number;
  /** Of this very upload; the object carries it, so that a later check can see which upload wrote it. */
  token: string;
  /** The last row in it. */
  cursor: string;
  /** Of a file that an engine is about to write: how many rows it had when they were counted. */
  expectedRows?: number;
};

/** Both are awaited: nothing becomes visible before its intent is kept, and nothing follows before it is counted. */
export type PartitionEvents = {
  intent(file: PartitionFile): Promise<void>;
  written(file: PartitionFile): Promise<void>;
};

export const uploadTokenKey = "treadle-upload";

export function partName(number: number): string {
  return `part-${String(number).padStart(5, "0")}.parquet`;
}
