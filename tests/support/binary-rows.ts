import type { ColumnKind } from "../../src/bulk-export/parquet/column.ts";

/** Microseconds from 1970 to 2000, where the database's times begin. */
const databaseEpoch = 946_684_800_000_000n;

export type FieldValue = null | string | number | bigint | boolean | (string | null)[];

/** A row as a binary COPY sends it. */
export function binaryRow(kinds: readonly ColumnKind[], values: readonly FieldValue[]): Buffer {
  const count = Buffer.alloc(2);
  count.writeInt16BE(kinds.length);
  return Buffer.concat([count, ...kinds.map((kind, index) => sized(field(kind, values[index]!)))]);
}

function sized(bytes: Buffer | null): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes === null ? -1 : bytes.length);
  return bytes === null ? length : Buffer.concat([length, bytes]);
}

function field(kind: ColumnKind, value: FieldValue): Buffer | null {
  if (value === null) return null;
  switch (kind) {
    case "text":
      return Buffer.from(value as string, "utf8");
    case "uuid":
      return Buffer.from((value as string).replaceAll("-", ""), "hex");
    case "bool":
      return Buffer.from([value ? 1 : 0]);
    case "double": {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleBE(value as number);
      return bytes;
    }
    case "int64":
    case "timestamp": {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64BE((value as bigint) - (kind === "timestamp" ? databaseEpoch : 0n));
      return bytes;
    }
    case "text_list":
      return list(value as (string | null)[], "text");
    case "uuid_list":
      return list(value as (string | null)[], "uuid");
  }
}

function list(items: (string | null)[], kind: "text" | "uuid"): Buffer {
  const head = Buffer.alloc(items.length === 0 ? 12 : 20);
  head.writeInt32BE(items.length === 0 ? 0 : 1, 0);
  if (items.length > 0) {
    head.writeInt32BE(items.length, 12);
    head.writeInt32BE(1, 16);
  }
  return Buffer.concat([head, ...items.map((item) => sized(item === null ? null : field(kind, item)))]);
}
