import { ByteBuffer } from "./byte-buffer.ts";

const types = { true: 1, false: 2, i16: 4, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;
export type ThriftList = "i32" | "binary" | "struct";

/** Writes Thrift's compact protocol, the form of every Parquet header. Fields go in rising order. */
export class ThriftWriter {
  readonly #out = new ByteBuffer(256);
  #lastField = 0;
  readonly #outer: number[] = [];

  struct(field: number, write: () => void): void {
    this.#header(field, types.struct);
    this.#body(write);
  }

  /** An element of a list of structs, or the outermost struct. */
  element(write: () => void): void {
    this.#body(write);
  }

  bool(field: number, value: boolean): void {
    this.#header(field, value ? types.true : types.false);
  }

  i16(field: number, value: number): void {
    this.#header(field, types.i16);
    this.#zigzag(value);
  }

  i32(field: number, value: number): void {
    this.#header(field, types.i32);
    this.#zigzag(value);
  }

  i64(field: number, value: number): void {
    this.#header(field, types.i64);
    this.#zigzag(value);
  }

  text(field: number, value: string): void {
    this.binary(field, Buffer.from(value, "utf8"));
  }

  binary(field: number, value: Buffer): void {
    this.#header(field, types.binary);
    this.#bytes(value);
  }

  i32List(field: number, values: readonly number[]): void {
    this.#listHeader(field, types.i32, values.length);
    for (const value of values) this.#zigzag(value);
  }

  textList(field: number, values: readonly string[]): void {
    this.#listHeader(field, types.binary, values.length);
    for (const value of values) this.#bytes(Buffer.from(value, "utf8"));
  }

  structList<Item>(field: number, items: readonly Item[], write: (item: Item) => void): void {
    this.#listHeader(field, types.struct, items.length);
    for (const item of items) this.#body(() => write(item));
  }

  bytes(): Buffer {
    return this.#out.copy();
  }

  #body(write: () => void): void {
    this.#outer.push(this.#lastField);
    this.#lastField = 0;
    write();
    this.#out.byte(0);
    this.#lastField = this.#outer.pop() ?? 0;
  }

  #header(field: number, type: number): void {
    const delta = field - this.#lastField;
    if (delta > 0 && delta <= 15) this.#out.byte((delta << 4) | type);
    else {
      this.#out.byte(type);
      this.#zigzag(field);
    }
    this.#lastField = field;
  }

  #listHeader(field: number, type: number, size: number): void {
    this.#header(field, types.list);
    if (size < 15) this.#out.byte((size << 4) | type);
    else {
      this.#out.byte(0xf0 | type);
      this.#out.varint(size);
    }
  }

  #zigzag(value: number): void {
    // Sizes, counts and offsets: never near the limits of exact numbers.
    this.#out.varint(value >= 0 ? value * 2 : -value * 2 - 1);
  }

  #bytes(value: Buffer): void {
    this.#out.varint(value.length);
    this.#out.bytes(value, 0, value.length);
  }
}
