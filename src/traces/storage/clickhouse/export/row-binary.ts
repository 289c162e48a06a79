import type { FieldKind } from "../../exported-fields.ts";

/** Microseconds from 1970 to 2000, where times of a COPY begin, in two halves. */
const copyEpoch = 946_684_800_000_000;
const twoTo32 = 4_294_967_296;
const epochHigh = Math.floor(copyEpoch / twoTo32);
const epochLow = copyEpoch % twoTo32;
const uuidBytes = 16;

/** `given`: a text that does not come with the row. */
export type RowField = FieldKind | "given";

const fixedBytes: Partial<Record<RowField, number>> = {
  uuid: 16,
  int64: 8,
  double: 8,
  timestamp: 8,
  bool: 1,
};

/**
 * Makes rows of a binary COPY of rows in ClickHouse's format RowBinary, byte by byte: no value becomes an object. Every
 * field may be null but lists.
 */
export class RowBinary {
  readonly #fields: readonly RowField[];
  #out = Buffer.allocUnsafe(64 * 1024);
  #length = 0;
  #varint = 0;

  /** The first is a time and the second an id. */
  constructor(fields: readonly RowField[]) {
    this.#fields = fields;
  }

  /** Where the row that begins at `start` ends; -1 when it is not there as a whole. */
  endOf(source: Buffer, start: number, end: number): number {
    let at = start;
    for (const kind of this.#fields) {
      if (kind === "given") continue;
      at =
        kind === "text_list" || kind === "uuid_list"
          ? this.#listEnd(kind, source, at, end)
          : this.#valueEnd(kind, source, at, end);
      if (at === -1) return -1;
    }
    return at;
  }

  /** The id of the row that begins at `start`, as text. */
  idOf(source: Buffer, start: number): string {
    const id = Buffer.allocUnsafe(uuidBytes);
    // Behind the time, both with a byte that says whether they are null.
    copyUuid(source, start + 10, id, 0);
    const hex = id.toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  /** The row that begins at `start`, as a COPY sends it; the bytes are valid until the next one. */
  convert(source: Buffer, start: number, given: readonly (string | null)[]): Buffer {
    this.#length = 0;
    this.#room(2);
    this.#length = this.#out.writeInt16BE(this.#fields.length, 0);
    let at = start;
    let next = 0;
    for (const kind of this.#fields) {
      if (kind === "given") this.#given(given[next++] ?? null);
      else if (kind === "text_list" || kind === "uuid_list") at = this.#list(kind, source, at);
      else if (source[at] === 1) {
        this.#int32(-1);
        at += 1;
      } else at = this.#value(kind, source, at + 1);
    }
    return this.#out.subarray(0, this.#length);
  }

  #valueEnd(kind: RowField, source: Buffer, start: number, end: number): number {
    if (start >= end) return -1;
    if (source[start] === 1) return start + 1;
    const fixed = fixedBytes[kind];
    if (fixed !== undefined) return start + 1 + fixed <= end ? start + 1 + fixed : -1;
    return this.#textEnd(source, start + 1, end);
  }

  #textEnd(source: Buffer, start: number, end: number): number {
    const at = this.#readVarint(source, start, end);
    return at === -1 || at + this.#varint > end ? -1 : at + this.#varint;
  }

  #listEnd(kind: RowField, source: Buffer, start: number, end: number): number {
    let at = this.#readVarint(source, start, end);
    if (at === -1) return -1;
    const count = this.#varint;
    if (kind === "uuid_list") return at + count * uuidBytes <= end ? at + count * uuidBytes : -1;
    for (let index = 0; index < count && at !== -1; index += 1) at = this.#textEnd(source, at, end);
    return at;
  }

  /** Leaves the number in `#varint` and answers where it ends: seven bits to a byte, the lowest first. */
  #readVarint(source: Buffer, start: number, end: number): number {
    let value = 0;
    let scale = 1;
    for (let at = start; at < end; at += 1) {
      const byte = source[at]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        this.#varint = value;
        return at + 1;
      }
      scale *= 128;
    }
    return -1;
  }

  #value(kind: RowField, source: Buffer, at: number): number {
    switch (kind) {
      case "uuid":
        this.#int32(uuidBytes);
        return this.#uuid(source, at);
      case "timestamp":
        return this.#time(source, at);
      case "int64":
      case "double":
        this.#int32(8);
        this.#room(8);
        for (let byte = 7; byte >= 0; byte -= 1) this.#out[this.#length++] = source[at + byte]!;
        return at + 8;
      case "bool":
        this.#int32(1);
        this.#room(1);
        this.#out[this.#length++] = source[at]!;
        return at + 1;
      default:
        return this.#text(source, at);
    }
  }

  #text(source: Buffer, start: number): number {
    const at = this.#readVarint(source, start, source.length);
    const bytes = this.#varint;
    this.#int32(bytes);
    this.#room(bytes);
    source.copy(this.#out, this.#length, at, at + bytes);
    this.#length += bytes;
    return at + bytes;
  }

  #uuid(source: Buffer, at: number): number {
    this.#room(uuidBytes);
    copyUuid(source, at, this.#out, this.#length);
    this.#length += uuidBytes;
    return at + uuidBytes;
  }

  #time(source: Buffer, at: number): number {
    this.#int32(8);
    this.#room(8);
    const low = source.readUInt32LE(at) - epochLow;
    const borrow = low < 0 ? 1 : 0;
    this.#out.writeInt32BE(source.readInt32LE(at + 4) - epochHigh - borrow, this.#length);
    this.#out.writeUInt32BE(low + borrow * twoTo32, this.#length + 4);
    this.#length += 8;
    return at + 8;
  }

  /** Its dimensions, whether it has nulls, its type (which nobody reads), then size and first index of the only one. */
  #list(kind: RowField, source: Buffer, start: number): number {
    let at = this.#readVarint(source, start, source.length);
    const count = this.#varint;
    const lengthAt = this.#length;
    this.#int32(0);
    for (const part of count === 0 ? [0, 0, 0] : [1, 0, 0, count, 1]) this.#int32(part);
    for (let index = 0; index < count; index += 1) {
      if (kind === "uuid_list") {
        this.#int32(uuidBytes);
        at = this.#uuid(source, at);
      } else at = this.#text(source, at);
    }
    this.#out.writeInt32BE(this.#length - lengthAt - 4, lengthAt);
    return at;
  }

  #given(text: string | null): void {
    if (text === null) {
      this.#int32(-1);
      return;
    }
    const bytes = Buffer.byteLength(text);
    this.#int32(bytes);
    this.#room(bytes);
    this.#length += this.#out.write(text, this.#length);
  }

  #int32(value: number): void {
    this.#room(4);
    this.#length = this.#out.writeInt32BE(value, this.#length);
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#out.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#out.length * 2, this.#length + bytes));
    this.#out.copy(grown, 0, 0, this.#length);
    this.#out = grown;
  }
}

/** ClickHouse has an id as two numbers, each with its lowest byte first. */
function copyUuid(source: Buffer, at: number, target: Buffer, to: number): void {
  for (let byte = 0; byte < 8; byte += 1) {
    target[to + byte] = source[at + 7 - byte]!;
    target[to + 8 + byte] = source[at + 15 - byte]!;
  }
}
