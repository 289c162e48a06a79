const signature = Buffer.from("PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0", "latin1");
/** PostgreSQL counts microseconds from the beginning of 2000. */
const epochMs = Date.UTC(2000, 0, 1);
const highBits = 4_294_967_296;

const elementTypes = { int4: 23, text: 25, float8: 701, uuid: 2950 };

/**
 * Rows in the binary format of COPY, written straight into one buffer: nothing is quoted here and nothing parsed
 * there. The fields of a row are written in the order of the columns.
 */
export class CopyEncoder {
  #bytes: Buffer;
  #at: number;

  constructor(expectedBytes: number) {
    this.#bytes = Buffer.allocUnsafe(expectedBytes + 1_024);
    this.#at = signature.copy(this.#bytes);
  }

  row(fields: number): void {
    this.#room(2);
    this.#at = this.#bytes.writeInt16BE(fields, this.#at);
  }

  null(): void {
    this.#room(4);
    this.#at = this.#bytes.writeInt32BE(-1, this.#at);
  }

  bytes(value: Buffer | null): void {
    if (value === null) {
      this.null();
      return;
    }
    this.#room(4 + value.byteLength);
    this.#int4(value.byteLength);
    this.#at += value.copy(this.#bytes, this.#at);
  }

  text(value: string | null): void {
    if (value === null) {
      this.null();
      return;
    }
    this.#prefixed(value);
  }

  /** Text that is JSON already. */
  jsonb(value: string): void {
    this.#room(5 + value.length * 3);
    const start = this.#at;
    this.#bytes[start + 4] = 1;
    const length = this.#bytes.write(value, start + 5);
    this.#bytes.writeInt32BE(length + 1, start);
    this.#at = start + 5 + length;
  }

  uuid(value: string | null): void {
    if (value === null) {
      this.null();
      return;
    }
    this.#room(20);
    this.#uuid(value);
  }

  boolean(value: boolean): void {
    this.#room(5);
    this.#int4(1);
    this.#bytes[this.#at++] = value ? 1 : 0;
  }

  int4(value: number): void {
    this.#room(8);
    this.#int4(4);
    this.#int4(value);
  }

  /** Whole numbers up to 2^53. */
  int8(value: number): void {
    this.#room(12);
    this.#int4(8);
    this.#int8(value);
  }

  float8(value: number | null): void {
    if (value === null) {
      this.null();
      return;
    }
    this.#room(12);
    this.#int4(8);
    this.#at = this.#bytes.writeDoubleBE(value, this.#at);
  }

  /** From UTC text with microseconds, `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
  timestamp(value: string | null): void {
    if (value === null) {
      this.null();
      return;
    }
    this.#room(12);
    this.#int4(8);
    this.#int8((Date.parse(`${value.slice(0, 19)}Z`) - epochMs) * 1_000 + Number(value.slice(20, 26)));
  }

  bits(value: Buffer | null): void {
    if (value === null) {
      this.null();
      return;
    }
    this.#room(8 + value.byteLength);
    this.#int4(4 + value.byteLength);
    this.#int4(value.byteLength * 8);
    this.#at += value.copy(this.#bytes, this.#at);
  }

  uuidArray(values: readonly string[]): void {
    this.#array("uuid", values.length, values.length * 20, () => {
      for (const value of values) this.#uuid(value);
    });
  }

  textArray(values: readonly string[]): void {
    this.#array("text", values.length, 0, () => {
      for (const value of values) this.#prefixed(value);
    });
  }

  int4Array(values: readonly number[]): void {
    this.#array("int4", values.length, values.length * 8, () => {
      for (const value of values) {
        this.#int4(4);
        this.#int4(value);
      }
    });
  }

  float8Array(values: readonly (number | null)[] | null): void {
    if (values === null) {
      this.null();
      return;
    }
    this.#array("float8", values.length, values.length * 12, () => {
      for (const value of values) {
        this.#int4(value === null ? -1 : 8);
        if (value !== null) this.#at = this.#bytes.writeDoubleBE(value, this.#at);
      }
    });
  }

  /** Everything, with the trailer; the encoder is used up. */
  finish(): Buffer {
    this.#room(2);
    this.#at = this.#bytes.writeInt16BE(-1, this.#at);
    return this.#bytes.subarray(0, this.#at);
  }

  #array(type: keyof typeof elementTypes, length: number, bytes: number, write: () => void): void {
    this.#room(24 + bytes);
    const start = this.#at;
    this.#at += 4;
    this.#int4(length === 0 ? 0 : 1);
    // Whether there are nulls; the server does not rely on it.
    this.#int4(1);
    this.#int4(elementTypes[type]);
    if (length > 0) {
      this.#int4(length);
      this.#int4(1);
      write();
    }
    this.#bytes.writeInt32BE(this.#at - start - 4, start);
  }

  #prefixed(value: string): void {
    this.#room(4 + value.length * 3);
    const length = this.#bytes.write(value, this.#at + 4);
    this.#bytes.writeInt32BE(length, this.#at);
    this.#at += 4 + length;
  }

  #uuid(value: string): void {
    this.#int4(16);
    const bytes = this.#bytes;
    let at = this.#at;
    for (let index = 0; index < 36; index += 2) {
      if (value.charCodeAt(index) === 0x2d) index += 1;
      bytes[at++] = (digitOf(value.charCodeAt(index)) << 4) | digitOf(value.charCodeAt(index + 1));
    }
    this.#at = at;
  }

  #int4(value: number): void {
    this.#at = this.#bytes.writeInt32BE(value, this.#at);
  }

  #int8(value: number): void {
    const high = Math.floor(value / highBits);
    this.#bytes.writeInt32BE(high, this.#at);
    this.#at = this.#bytes.writeUInt32BE(value - high * highBits, this.#at + 4);
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.byteLength) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.byteLength * 2, this.#at + bytes));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }
}

/** Of a lower-case hexadecimal digit. */
function digitOf(code: number): number {
  return code < 0x3a ? code - 0x30 : code - 0x57;
}
